"""Who cleared which gradients, and when: zero_grad, `.grad = None`, zero_() in place."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import gradients_of, writes_into, zeroed_in_place
from autograd_inspector.analysis.timeline import together
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import GradientsGone, ModuleCleared, ZeroGradCalled


def clearings(
    analysis: Analysis, tensors: Iterable[int], start: int, end: int
) -> list[ZeroGradCalled | ModuleCleared | GradientsGone]:
    """The calls of zero_grad() of optimizers that hold some of the parameters, or of modules that have some."""
    timeline, tensors = analysis.timeline, list(tensors)
    of_optimizers = together(map(timeline.clearings_of, timeline.holders(tensors)), start, end)
    of_modules = together(map(timeline.modules_cleared, tensors), start, end)
    return sorted([*of_optimizers, *of_modules], key=lambda call: call.at)


def clearings_of_others(
    analysis: Analysis, tensors: Iterable[int], before: int
) -> list[ZeroGradCalled | ModuleCleared]:
    """The last calls before a moment, one a line, of the zero_grad() of optimizers and modules with other parameters."""
    timeline, tensors = analysis.timeline, set(tensors)
    holders = set(timeline.holders(tensors))
    others = [number for number in range(len(analysis.capture.placement.optimizers)) if number not in holders]
    last = (next(timeline.clearings_of(number).before(before + 1), None) for number in others)
    modules = (
        call
        for call in analysis.capture.events_of(ModuleCleared)
        if call.at <= before and tensors.isdisjoint(call.tensors)
    )
    return list({call.site: call for call in (*last, *modules) if call is not None}.values())


def renewed(analysis: Analysis, tensors: list[int], since: int, run: Backward) -> bool:
    """Whether the program cleared or replaced gradients between the last step and this backward."""
    if clearings(analysis, tensors, since, run.start):
        return True
    if any(analysis.timeline.writes_of(tensor).places(since, run.start) for tensor in tensors):
        return True
    return any(
        True for g in gradients_of(analysis, tensors) for _ in writes_into(analysis, g, max(since, 0), run.start)
    )


def cleared_before(analysis: Analysis, step: Step, reached: set[int], run: Backward) -> int | None:
    """The site that cleared all gradients of a backward before the step could use them; None when none did."""
    facing = [p for p in step.parameters if p.tensor in reached]
    if all(p.gradient < 0 for p in facing):
        return _dropped(analysis, step, reached, run)
    if any(p.gradient < 0 for p in facing):
        return None
    zeroed = [zeroed_in_place(analysis, [p.gradient], run.end, step.at) for p in facing]
    zeroing_ops = [op for op in zeroed if op is not None]
    return max(zeroing_ops, key=lambda op: op.index).site if len(zeroing_ops) == len(facing) else None


def _dropped(analysis: Analysis, step: Step, reached: set[int], run: Backward) -> int | None:
    calls = clearings(analysis, reached, run.end, step.at)
    writes = together(map(analysis.timeline.writes_of, reached), run.end, step.at)
    dropped = [write.site for write in writes if write.gradient < 0]
    # A call at the very index at which backward ran may have come before it.
    early, late = ([call.site for call in calls if (call.at > run.end) is after] for after in (False, True))
    return next(reversed([*early, *dropped, *late]), None)
