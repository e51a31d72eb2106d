"""Schedulers that go on with an optimizer after another one has taken over its parameters.

Or with one that wraps another, and shared its parameter groups until a load gave that one new groups, or has copies of
them from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import (
    GroupsMade,
    SchedulerMade,
    SchedulerStepped,
    StateLoaded,
    StepNested,
)


class LeftBehind(Struct, frozen=True):
    """A scheduler's step after ``step`` of ``following``, which holds parameters of ``optimizer`` and has no scheduler.

    ``optimizer``, the scheduler's, does not step any more, or never has: then ``loaded`` parted the two.
    """

    optimizer: OptimizerRecord
    following: OptimizerRecord
    stepped: SchedulerStepped
    step: Step
    made: tuple[SchedulerMade, ...]
    loaded: StateLoaded | None = None


def left_behind(analysis: Analysis) -> Iterator[LeftBehind]:
    """One record for each optimizer whose scheduler goes on without it."""
    capture = analysis.capture
    free = [other for other in capture.placement.optimizers if other.steps and other.groups and not _scheduled(other)]
    for number, events in grouped(capture.events_of(SchedulerStepped), lambda event: event.optimizer).items():
        optimizer = capture.placement.optimizers[number]
        held = set(optimizer.held)
        for following in free:
            if held.isdisjoint(following.held):
                continue
            loaded = _parted(analysis, optimizer, following)
            if following.id <= number and loaded is None:
                continue
            steps = [step for step in analysis.timeline.steps_of(following.id).all if not step.error]
            late = [event for event in events if steps and event.at > steps[0].at]
            if late and not any(step.at > steps[0].at for step in analysis.timeline.steps_of(number).all):
                made = tuple(event for event in capture.events_of(SchedulerMade) if event.optimizer == number)
                yield LeftBehind(optimizer, following, late[0], steps[0], made, loaded)
                break


class CopiedGroups(Struct, frozen=True):
    """A scheduler moves the rates of ``wrapper``, which never steps; ``inner``, which does, keeps the ones it had.

    Both have the same parameters. ``step`` is the first one that does not take what ``stepped`` had set.
    """

    wrapper: OptimizerRecord
    inner: OptimizerRecord
    stepped: SchedulerStepped
    step: Step
    made: tuple[SchedulerMade, ...]
    groups: GroupsMade | None = None


class CopiedRates(Struct, frozen=True):
    """The rates of ``wrapper`` change from step to step; the step that it calls, ``nested``, has the same each time.

    ``step`` is the first one with another rate than the step before; ``groups``: what makes the copies.
    """

    wrapper: OptimizerRecord
    nested: StepNested
    step: Step
    groups: GroupsMade | None = None


def copied_groups(analysis: Analysis) -> Iterator[CopiedGroups]:
    """One record for each wrapper. Who hands the rates on by hand steps with others than at first."""
    capture = analysis.capture
    for wrapper in capture.placement.optimizers:
        events = [event for event in capture.events_of(SchedulerStepped) if event.optimizer == wrapper.id]
        if wrapper.steps or not events or capture.history.folded:
            continue
        for inner in capture.placement.optimizers[: wrapper.id]:
            steps = [step for step in analysis.timeline.steps_of(inner.id).all if not step.error]
            if not steps or _scheduled(inner) or set(inner.held) != set(wrapper.held):
                continue
            later = [step for step in steps if step.start >= events[0].at]
            moved = any(event.rates != steps[0].rates for event in events if later and event.at <= later[-1].start)
            kept = len({step.rates for step in steps}) == 1
            if len(later) > 1 and moved and kept and not _parted(analysis, wrapper, inner):
                made = tuple(event for event in capture.events_of(SchedulerMade) if event.optimizer == wrapper.id)
                yield CopiedGroups(wrapper, inner, events[0], later[0], made, _groups(analysis, wrapper))
                break


def copied_rates(analysis: Analysis) -> Iterator[CopiedRates]:
    """One record for each wrapper whose own step is seen. What hands the rates on changes those of the inner one."""
    capture = analysis.capture
    for number, events in grouped(capture.events_of(StepNested), lambda event: event.optimizer).items():
        steps = [step for step in analysis.timeline.steps_of(number).all if not step.error and -1.0 not in step.rates]
        changed = next((later for step, later in pairwise(steps) if step.rates != later.rates), None)
        if changed is not None and len(events) == 1:
            wrapper = capture.placement.optimizers[number]
            yield CopiedRates(wrapper, events[0], changed, _groups(analysis, wrapper))


def _groups(analysis: Analysis, wrapper: OptimizerRecord) -> GroupsMade | None:
    made = (event for event in analysis.capture.events_of(GroupsMade) if event.optimizer == wrapper.id)
    return next(made, None)


def _parted(analysis: Analysis, wrapper: OptimizerRecord, inner: OptimizerRecord) -> StateLoaded | None:
    """The last load of an optimizer that steps where one of the very same parameters never has, and never was loaded."""
    loads = analysis.capture.events_of(StateLoaded)
    if wrapper.steps or inner.id >= wrapper.id or set(wrapper.held) != set(inner.held):
        return None
    own = [event for event in loads if event.optimizer == inner.id]
    return own[-1] if own and not any(event.optimizer == wrapper.id for event in loads) else None


def _scheduled(optimizer: OptimizerRecord) -> bool:
    """Whether a scheduler has been given one of its groups: it keeps in it what it began with."""
    return any("initial_lr" in group for group in optimizer.groups)
