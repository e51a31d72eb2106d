"""Gradients that the zero_grad() of another optimizer drops before the step that was to use them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.timeline import together
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import ZeroGradCalled


class Cleared(Struct, frozen=True):
    """A call that cleared what a backward had computed, of which a later step uses the rest."""

    step: Step
    run: Backward
    call: ZeroGradCalled


def cleared_by_others(analysis: Analysis, sources: GradientSources) -> Iterator[tuple[Cleared, list[int]]]:
    """What was cleared, and for which parameters: the first time for each line that clears."""
    told: set[int] = set()
    partners = _partners(analysis)
    for step in analysis.capture.steps if partners else ():
        lost: dict[Cleared, list[int]] = {}
        for cleared, tensor in _cleared(analysis, sources, step, partners):
            lost.setdefault(cleared, []).append(tensor)
        for cleared, tensors in lost.items():
            if cleared.call.site not in told:
                told.add(cleared.call.site)
                yield cleared, tensors


def _partners(analysis: Analysis) -> dict[int, set[int]]:
    """Optimizer -> the other ones that hold some of its parameters."""
    partners: dict[int, set[int]] = {}
    for holders in analysis.timeline.held_by_several.values():
        for one, other in permutations(holders, 2):
            partners.setdefault(one, set()).add(other)
    return partners


def _cleared(
    analysis: Analysis, sources: GradientSources, step: Step, partners: dict[int, set[int]]
) -> Iterator[tuple[Cleared, int]]:
    if step.computed or step.error:
        return
    sharing = partners.get(step.optimizer)
    others = together(map(analysis.timeline.clearings_of, sharing or ()), sources.since(step) + 1, step.start)
    if not others:
        return
    held = frozenset(analysis.capture.placement.optimizers[step.optimizer].held)
    consumed = list(sources.of(step))
    used = {each.run.index: each.run for part in consumed for each in part.contributions}
    added = {part.tensor: {each.run.index for each in part.contributions} for part in consumed}
    replaced = {part.tensor for part in consumed if part.beginning == "replaced"}
    for tensor in held - replaced:
        for run in used.values():
            if tensor not in run.reached or tensor in run.empty or run.index in added.get(tensor, ()):
                continue
            call = next((call for call in others if call.at >= run.end and _holds(analysis, call, tensor)), None)
            if call is not None and not _used(analysis, tensor, run.end, call.at):
                yield Cleared(step, run, call), tensor


def _holds(analysis: Analysis, call: ZeroGradCalled, tensor: int) -> bool:
    return tensor in analysis.capture.placement.optimizers[call.optimizer].held


def _used(analysis: Analysis, tensor: int, start: int, end: int) -> bool:
    """Whether a step, or the program, had used its gradient by then."""
    if any(read.clips < 0 for read in analysis.timeline.reads_of(tensor).within(start, end)):
        return True
    return any(
        start <= step.at <= end and any(p.tensor == tensor and p.gradient >= 0 for p in step.parameters)
        for step in analysis.timeline.steps.within(start, end)
    )
