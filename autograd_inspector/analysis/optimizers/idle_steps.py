"""Optimizers whose steps move nothing although their parameters have gradients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.fast_schedulers import at_rate_zero, fast_schedulers
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import (
    OptimizerCreated,
    OptionSet,
    SchedulerMade,
    SchedulerStepped,
    UpdateDropped,
)

_FEWEST = 2
"""A warm-up may begin with one step at 0."""


class AtZero(Struct, frozen=True):
    """An optimizer whose steps have a learning rate of 0: ``steps``, of which there are several.

    ``moved_on``: the schedulers that stepped between its first and its last step. ``alone``: nothing else learns.
    ``before``: the steps at other rates, until its schedule was over; () of one that was at 0 from the first.
    ``made_with``: the largest rate that it was made with. ``lines``: those of the source that may have set another one.
    """

    optimizer: OptimizerRecord
    steps: tuple[Step, ...]
    schedulers: tuple[SchedulerMade, ...]
    moved_on: tuple[SchedulerStepped, ...]
    later: tuple[SchedulerStepped, ...]
    alone: bool
    before: tuple[Step, ...] = ()
    made_with: float = 0.0
    lines: tuple[OptionSet, ...] = ()


def dropped_updates(analysis: Analysis) -> Iterator[tuple[UpdateDropped, Step]]:
    """Steps that compute new values and drop them, where nothing else writes these parameters; once a line."""
    told: set[tuple[int, int]] = set()
    for event in analysis.capture.events_of(UpdateDropped):
        steps = _steps_of(analysis, event.optimizer)
        key = (event.optimizer, event.site)
        if key in told or not steps or _moved(event, steps) or _written(analysis, event, steps[0].op):
            continue
        told.add(key)
        yield event, steps[-1]


def _moved(event: UpdateDropped, steps: Iterable[Step]) -> bool:
    """Whether some step moved a version counter of one of those parameters."""
    return any(
        p.version_after > p.version_before for step in steps for p in step.parameters if p.tensor in event.tensors
    )


def at_zero(analysis: Analysis) -> Iterator[AtZero]:
    """Optimizers that are at 0 in all steps, or in several last ones, because a schedule or the program made it so.

    Not one whose schedule gives other rates between its steps: it is stepped too often.
    """
    capture = analysis.capture
    missed = {fast.optimizer.id for fast in fast_schedulers(analysis) if fast.missed}
    for optimizer in capture.placement.optimizers:
        all_steps = _steps_of(analysis, optimizer.id)
        count = next((i for i, step in enumerate(reversed(all_steps)) if not at_rate_zero(step)), len(all_steps))
        before, steps = all_steps[: len(all_steps) - count], all_steps[len(all_steps) - count :]
        if optimizer.id in missed or not steps or (len(steps) if before else optimizer.steps) < _FEWEST:
            continue
        if not (_scheduled(optimizer) if before else _always(analysis, steps)):
            continue
        passed = {step.at for step in before}
        first, last = (steps[0].start if not capture.history.folded else 0), steps[-1].at
        own = [event for event in capture.events_of(SchedulerStepped) if event.optimizer == optimizer.id]
        yield AtZero(
            optimizer,
            steps,
            tuple(event for event in capture.events_of(SchedulerMade) if event.optimizer == optimizer.id),
            tuple(event for event in own if first <= event.at <= last),
            tuple(event for event in own if event.at > last),
            not any(step.counted and not at_rate_zero(step) for step in capture.steps if step.at not in passed),
            before,
            _made_with(analysis, optimizer),
            tuple(e for e in capture.events_of(OptionSet) if e.optimizer == optimizer.id and e.option == "lr"),
        )


def _made_with(analysis: Analysis, optimizer: OptimizerRecord) -> float:
    created = (e for e in analysis.capture.events_of(OptimizerCreated) if e.optimizer == optimizer.id)
    return max((rate for event in created for rate in event.rates), default=0.0)


def _steps_of(analysis: Analysis, optimizer: int) -> tuple[Step, ...]:
    steps = analysis.timeline.steps_of(optimizer).all
    return tuple(step for step in steps if not step.error and any(p.gradient >= 0 for p in step.parameters))


def _written(analysis: Analysis, event: UpdateDropped, start: int) -> bool:
    """Whether something else writes one of the parameters after all: another optimizer, or the program itself."""
    tensors, end = analysis.capture.tensors, len(analysis.capture.ops)
    return any(
        not op.has(Trait.STEP) or write.after != write.before
        for tensor in event.tensors
        for op, write in analysis.writes_to(tensors[tensor].storage, tensor, start, end)
    )


def _scheduled(optimizer: OptimizerRecord) -> bool:
    """Whether a scheduler has made 0 of what the optimizer was given."""
    rates = [group.get("initial_lr") for group in optimizer.groups]
    return any(isinstance(rate, (int, float)) and rate > 0 for rate in rates)


def _always(analysis: Analysis, steps: tuple[Step, ...]) -> bool:
    """Whether the steps that are folded away left those parameters as they were, too."""
    history = analysis.capture.history
    own = {p.tensor for step in steps for p in step.parameters if p.gradient >= 0}
    return not history.folded or all(still >= 0 and own <= {*history.sets[still]} for still in history.still.values)


class NoLongerMoved(Struct, frozen=True):
    """``last`` is the last step that moved ``tensors``; ``without`` found no gradients; ``steps``, behind it, found some."""

    optimizer: OptimizerRecord
    last: Step
    without: Step
    steps: tuple[Step, ...]
    tensors: tuple[int, ...]


def no_longer_moved(analysis: Analysis) -> Iterator[NoLongerMoved]:
    """Optimizers that moved all their parameters, found no gradients once, and move none since, although they have some.

    One that had gradients throughout may wait on purpose: it skips spikes, has converged, or collects gradients. What moves without its version counter is not told from what stays: so only counters that have moved are asked. An
    optimizer that moves its parameters every few steps is given as many again. One that computes the loss itself, as
    LBFGS does, may have found that there is nothing to gain.
    """
    for optimizer in analysis.capture.placement.optimizers if not analysis.capture.history.folded else ():
        steps = _steps_of(analysis, optimizer.id)
        moving = [place for place, step in enumerate(steps) if step.counted]
        left = steps[moving[-1] + 1 :] if moving else ()
        if any(step.computed for step in left):
            continue
        gaps = [after - before for before, after in pairwise([-1, *moving])]
        given = {p.tensor for step in left for p in step.parameters if p.gradient >= 0 and step.rate(p) != 0}
        moved = {p.tensor for place in moving for p in steps[place].parameters if p.version_after > p.version_before}
        without = _without_gradients(analysis, steps[moving[-1]], left[0]) if left else None
        if without is not None and len(left) > max(gaps, default=0) and given and given <= moved:
            yield NoLongerMoved(optimizer, steps[moving[-1]], without, left, tuple(sorted(given)))


def _without_gradients(analysis: Analysis, last: Step, first: Step) -> Step | None:
    """The step between two of an optimizer that found no gradients."""
    between = analysis.timeline.steps_of(last.optimizer).within(last.at + 1, first.at - 1)
    return next((step for step in between if not step.error), None)


class RoundedAway(Struct, frozen=True):
    """Parameters whose values none of the optimizer's ``steps`` changed, although they had gradients."""

    optimizer: OptimizerRecord
    steps: tuple[Step, ...]
    tensors: tuple[int, ...]


def rounded_away(analysis: Analysis) -> Iterator[RoundedAway]:
    """Of each optimizer the parameters whose updates are too small for their dtype. Needs values."""
    for optimizer in analysis.capture.placement.optimizers:
        steps = _steps_of(analysis, optimizer.id)
        met = {p.tensor for step in steps for p in step.parameters if p.gradient >= 0 and step.rate(p) != 0}
        moved = {p.tensor for step in steps for p in step.parameters if p.gradient >= 0 and not p.still}
        still = tuple(sorted(met - moved))
        if still:
            yield RoundedAway(optimizer, steps, still)
