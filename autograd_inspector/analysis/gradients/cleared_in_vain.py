"""Gradients of some parameters that a line clears when there are none: before the backward that computes them.

What is cleared for the next backward is cleared for all that a step uses. A line that picks some of them keeps these
from the step, if it comes behind the backward.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradWrite, ParameterStep, Step
from autograd_inspector.model.program_events import ModuleCleared, ZeroGradCalled


class ClearedInVain(Struct, frozen=True):
    """``write`` set the ``.grad`` of ``tensors`` to None where it was None, and ``run`` filled it before ``step``.

    ``in_turns``: other steps of the optimizer came without that line, so that it is no part of how all are cleared.
    """

    write: GradWrite
    run: Backward
    step: Step
    tensors: tuple[int, ...]
    in_turns: bool


def cleared_in_vain(analysis: Analysis) -> Iterator[ClearedInVain]:
    """Each line once: nothing that it cleared, of what learns, was there."""
    capture = analysis.capture
    own = {call.site for kind in (ZeroGradCalled, ModuleCleared) for call in capture.events_of(kind)}
    sites = {write.site for write in capture.grad_writes if write.gradient < 0} - own
    in_vain: dict[int, dict[int, tuple[Step, dict[int, tuple[GradWrite, Backward]]]]] = {}
    needed: set[int] = set()
    since: dict[int, Step] = {}
    for step in capture.steps if sites else ():
        before = since.get(step.optimizer)
        since[step.optimizer] = step
        for parameter in step.parameters:
            for write in _written(analysis, parameter, before, step):
                if write.site not in sites:
                    continue
                run = _filled_behind(analysis, write, parameter, before, step)
                if run is None:
                    needed.add(write.site)
                else:
                    _, found = in_vain.setdefault(write.site, {}).setdefault(step.op, (step, {}))
                    found[parameter.tensor] = write, run
    for site, steps in in_vain.items():
        step, found = next(iter(steps.values()))
        used = {p.tensor for p in step.parameters if p.gradient >= 0}
        if site not in needed and found.keys() < used:
            write, run = next(iter(found.values()))
            all_steps = analysis.timeline.steps_of(step.optimizer).all
            in_turns = any(each.op not in steps and not each.error for each in all_steps)
            yield ClearedInVain(write, run, step, tuple(found), in_turns)


def _written(analysis: Analysis, parameter: ParameterStep, before: Step | None, step: Step) -> Sequence[GradWrite]:
    """The assignments of None to a ``.grad`` between two steps, in program order."""
    start = before.at if before is not None else -1
    writes = analysis.timeline.writes_of(parameter.tensor).within(start + 1, step.at)
    return [write for write in writes if write.gradient < 0]


def _filled_behind(
    analysis: Analysis, write: GradWrite, parameter: ParameterStep, before: Step | None, step: Step
) -> Backward | None:
    """The backward that filled a ``.grad`` for the step, which was None when the line set it to None; else None.

    At the index of a backward a line may come before it or behind it: behind it, the step or the next backward would
    find none.
    """
    tensor, start = parameter.tensor, before.at if before is not None else -1
    runs = analysis.timeline.backwards_to(tensor).within(start + 1, step.at)
    if parameter.gradient < 0 or not runs or any(run.start < write.at for run in runs):
        return None
    if any(tensor not in analysis.timeline.stale(run) for run in runs[1:]):
        return None
    if not clearings(analysis, (tensor,), start + 1, write.at):
        return None
    if before is None:
        return runs[0] if tensor not in analysis.timeline.stale(runs[0]) else None
    met = next((p.gradient for p in before.parameters if p.tensor == tensor), -1)
    first = _written(analysis, parameter, before, step)[0]
    return runs[0] if met < 0 or first.site != write.site else None
