"""Gradients that come too late, or are dropped too late: a step applies one again, or has applied what is dropped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.memory import writes_into
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import GradWrite, ParameterStep, Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import ParametersConverted, ZeroGradCalled


class AppliedAgain(Struct, frozen=True):
    """A step met in ``.grad`` of these what the step before had met, although ``run`` has run in between, to others."""

    step: Step
    tensors: tuple[int, ...]
    run: Backward


class SteppedTwice(Struct, frozen=True):
    """Two steps of an optimizer with no backward in between: the second applies the gradients of the first once more."""

    first: Step
    second: Step
    tensors: tuple[int, ...]


class DroppedLate(Struct, frozen=True):
    """``.grad`` of these is set to None by one line, in each round after ``step`` has used it; ``call`` clears it anyway."""

    step: Step
    tensors: tuple[int, ...]
    site: int
    call: ZeroGradCalled


class ChangedLate(Struct, frozen=True):
    """The gradients of these are changed in place in each round by the line of ``op``, after ``step`` has used them.

    ``call`` clears them before the next backward, and nothing reads them in between.
    """

    step: Step
    tensors: tuple[int, ...]
    op: Op
    call: ZeroGradCalled


def applied_again(analysis: Analysis) -> Iterator[AppliedAgain]:
    """The last time for each optimizer."""
    for optimizer in analysis.capture.placement.optimizers:
        steps = [step for step in analysis.timeline.steps_of(optimizer.id).all if not step.error and not step.closure]
        found = None
        for before, step in pairwise(steps):
            runs = [run for run in analysis.timeline.backwards.within(before.at + 1, step.start) if _gives(run)]
            tensors = _met_again(analysis, before, step, runs) if runs else ()
            if tensors:
                found = AppliedAgain(step, tensors, runs[-1])
        if found is not None:
            yield found


def stepped_twice(analysis: Analysis) -> Iterator[SteppedTwice]:
    """The last time for each optimizer. One call in a loop by itself repeats a gradient on purpose: a constant force."""
    for optimizer in analysis.capture.placement.optimizers:
        steps = [step for step in analysis.timeline.steps_of(optimizer.id).all if not step.error and not step.closure]
        for before, step in reversed([*pairwise(steps)]):
            together = before.site != step.site and not analysis.timeline.runs.within(before.at + 1, step.start)
            tensors = _met_again(analysis, before, step, ()) if together else ()
            if tensors:
                yield SteppedTwice(before, step, tensors)
                break


def _met_again(analysis: Analysis, before: Step, step: Step, runs: Iterable[Backward]) -> tuple[int, ...]:
    """What a step moves by the gradient that the step before it had met, where the runs in between do not reach it."""
    met = {p.tensor: p for p in before.parameters}
    reached = {tensor for run in runs for tensor in run.reached}
    return tuple(
        p.tensor
        for p in step.parameters
        if p.tensor not in reached and _same(met.get(p.tensor), p) and not _assigned(analysis, p, before, step)
    )


def _gives(run: Backward) -> bool:
    return run.completed and bool(run.reached)


def _same(before: ParameterStep | None, now: ParameterStep) -> bool:
    """Whether both steps met the same gradient with the same values, and moved the parameter by it."""
    return (
        before is not None
        and now.gradient >= 0
        and before.gradient == now.gradient
        and before.gradient_after == now.gradient_before
        and not now.frozen
        and now.version_after > now.version_before
    )


def _assigned(analysis: Analysis, p: ParameterStep, before: Step, step: Step) -> bool:
    """Whether the program gave the parameter a gradient in between, or wrote into it: past its version counter, too."""
    start, end = before.at + 1, step.start
    if any(write.gradient >= 0 for write in analysis.timeline.writes_of(p.tensor).within(start, end)):
        return True
    return any(True for _ in writes_into(analysis, p.gradient, start, end))


def dropped_late(analysis: Analysis) -> Iterator[DroppedLate]:
    """One record for each line that drops the gradients of a part of what a step moves."""
    by_site: dict[int, list[GradWrite]] = {}
    calls = analysis.capture.events_of(ZeroGradCalled)
    clearing = {line_of(analysis, call.site) for call in calls} if calls else set()
    for write in analysis.capture.grad_writes if calls else ():
        through = analysis.capture.sites[write.site].through if write.site >= 0 else ""
        if write.gradient < 0 and through != "Module.zero_grad" and line_of(analysis, write.site) not in clearing:
            by_site.setdefault(write.site, []).append(write)
    for site, writes in by_site.items():
        steps = [_used_by(analysis, write) for write in writes]
        last = steps[-1]
        if last is None or None in steps:
            continue
        tensors = tuple(dict.fromkeys(write.tensor for write in writes))
        others = {p.tensor for p in last.parameters if p.gradient >= 0} - set(tensors)
        cleared = [_cleared_anyway(analysis, write) for write in writes]
        call = next((call for call in reversed(cleared) if call is not None), None)
        if others and call is not None:
            yield DroppedLate(last, tensors, site, call)


def _used_by(analysis: Analysis, write: GradWrite) -> Step | None:
    """The step that met the gradient, with no backward to the parameter since; None where no step had used it."""
    holders = analysis.timeline.holders([write.tensor])
    latest = (next(analysis.timeline.steps_of(holder).before(write.at), None) for holder in holders)
    step = max((s for s in latest if s is not None), key=lambda s: s.at, default=None)
    if step is None or step.error or not any(p.tensor == write.tensor and p.gradient >= 0 for p in step.parameters):
        return None
    if _at_rest(analysis, write, step):
        return None
    later = analysis.timeline.backwards_to(write.tensor).within(step.at + 1, write.at)
    earlier = [w for w in analysis.timeline.writes_of(write.tensor).within(step.at + 1, write.at) if w is not write]
    return None if later or earlier else step


def _at_rest(analysis: Analysis, write: GradWrite, step: Step) -> bool:
    """Whether the parameter is frozen for a while from about there: no step may move it, and no gradient stay behind."""
    following = next(analysis.timeline.backwards_to(write.tensor).since(write.at + 1), None)
    until = math.inf if following is None else following.start
    return bool(analysis.lifecycle.frozen([write.tensor], since=step.at, until=until))


def _cleared_anyway(analysis: Analysis, write: GradWrite) -> ZeroGradCalled | None:
    """The call that clears the gradients of the optimizer before the next backward to the parameter."""
    following = next(analysis.timeline.backwards_to(write.tensor).since(write.at + 1), None)
    if following is None:
        return None
    holders = analysis.timeline.holders([write.tensor])
    calls = [c for h in holders for c in analysis.timeline.clearings_of(h).within(write.at, following.start)]
    return calls[-1] if calls else None


def changed_late(analysis: Analysis) -> Iterator[ChangedLate]:
    """One record for each line that changes gradients when it is too late; clipping is told by itself."""
    found: dict[int, tuple[ChangedLate, list[int]]] = {}
    useful = {read.site for read in analysis.capture.grad_reads if read.clips >= 0}
    """Sites that change a gradient which somebody uses, or clip it."""
    converted = analysis.capture.events_of(ParametersConverted)
    useful.update(event.site for event in converted)  # Converts the gradients beside their parameters.
    for step in analysis.capture.steps if analysis.capture.events_of(ZeroGradCalled) else ():
        for parameter in step.parameters if not step.error else ():
            _look(analysis, step, parameter, found, useful)
    for site, (late, tensors) in found.items():
        if site not in useful:
            yield replace(late, tensors=tuple(dict.fromkeys(tensors)))


def _look(
    analysis: Analysis,
    step: Step,
    parameter: ParameterStep,
    found: dict[int, tuple[ChangedLate, list[int]]],
    useful: set[int],
) -> None:
    """Sort the writes to one gradient since a step by whether anything comes of them."""
    tensor, gradient = parameter.tensor, parameter.gradient
    following = next(analysis.timeline.backwards_to(tensor).since(step.at + 1), None)
    if gradient < 0 or following is None:
        return  # Of the last round it is not known what comes next.
    end = following.start
    holders = analysis.timeline.holders([tensor])
    calls = [c for h in holders for c in analysis.timeline.clearings_of(h).within(step.at, end)]
    steps = {s.at for h in holders for s in analysis.timeline.steps_of(h).within(step.at + 1, end)}
    reads = [read.at for read in analysis.timeline.reads_of(tensor).within(step.at, end)]
    for op, _ in writes_into(analysis, gradient, step.at + 1, end):
        if op.has(Trait.BACKWARD) or is_a(op.name, OpKind.ZEROES):
            continue
        call = next((c for c in calls if c.at > op.index), None)
        if call is None or any(op.index < at <= call.at for at in (*steps, *reads)):
            useful.add(op.site)
        else:
            late = ChangedLate(step, (tensor,), op, call)
            found.setdefault(op.site, (late, []))[1].append(tensor)
