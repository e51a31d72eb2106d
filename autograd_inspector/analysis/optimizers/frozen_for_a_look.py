"""A part of what an optimizer holds, frozen by a function that asks for another gradient, and frozen ever since.

What is frozen as the training goes on is frozen by the training loop, or by what schedules it. A function that computes
a saliency map, or an attack, freezes what it needs no gradient of, and is to leave it as it found it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.frozen_for_a_turn import resting
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import RequiresGradChanged, Step
from autograd_inspector.model.placement_rows import OptimizerRecord

_FEWEST = 2
"""So many steps without them are no accident."""


class FrozenForALook(Struct, frozen=True):
    """``frozen`` froze ``tensors``, and ``asked``, in the same call of a function, went to none of the optimizer's.

    ``steps`` are those of ``optimizer`` since then. ``function`` does both, and steps no optimizer.
    """

    optimizer: OptimizerRecord
    frozen: RequiresGradChanged
    tensors: tuple[int, ...]
    asked: Backward
    steps: tuple[Step, ...]
    function: str


def frozen_for_a_look(analysis: Analysis) -> Iterator[FrozenForALook]:
    """One for each optimizer and line that freezes."""
    capture = analysis.capture
    stepping = {frame.scope for step in capture.steps for frame in capture.site(step.site)}
    for optimizer in capture.placement.optimizers if capture.requires_grad_changes else ():
        steps = analysis.timeline.steps_of(optimizer.id).all
        by_line: dict[int, list[RequiresGradChanged]] = {}
        frozen_last: dict[int, Sequence[RequiresGradChanged]] = {}
        for tensor in dict.fromkeys(optimizer.held) if len(steps) > _FEWEST else ():
            changes = analysis.lifecycle.changes([tensor])
            if changes and not changes[-1].requires_grad:
                frozen_last[tensor] = changes
        for tensor in resting(steps, {tensor: _began(changes) for tensor, changes in frozen_last.items()}):
            last = frozen_last[tensor][-1]
            by_line.setdefault(last.site, []).append(last)
        for frozen in by_line.values():
            found = _judged(analysis, optimizer, steps, frozen, stepping)
            if found is not None:
                yield found


def _began(changes: Sequence[RequiresGradChanged]) -> int:
    """When it was frozen for the last time: what freezes it again changes nothing."""
    first = changes[-1].at
    for change in reversed(changes):
        if change.requires_grad:
            break
        first = change.at
    return first


def _judged(
    analysis: Analysis,
    optimizer: OptimizerRecord,
    steps: Sequence[Step],
    frozen: list[RequiresGradChanged],
    stepping: set[tuple[str, str]],
) -> FrozenForALook | None:
    capture, change = analysis.capture, frozen[0]
    began = min(_began(analysis.lifecycle.changes([each.tensor])) for each in frozen)
    own = [frame.scope for frame in capture.site(change.site) if not frame.library]
    since = tuple(step for step in steps if step.at > began)
    asked = next(analysis.timeline.runs.since(change.at), None)
    if asked is None or asked.error or not optimizer.held or not set(optimizer.held).isdisjoint(asked.reached):
        return None
    around = {frame.scope for frame in capture.site(asked.site) if not frame.library} - stepping
    both = next((scope for scope in own if scope in around), None)
    if both is None or any(change.at < step.at <= asked.start for step in capture.steps):
        return None
    tensors = tuple(sorted(each.tensor for each in frozen))
    return FrozenForALook(optimizer, change, tensors, asked, since, both[1])
