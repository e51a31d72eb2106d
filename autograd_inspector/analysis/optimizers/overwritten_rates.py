"""Learning rates that the program sets itself, and that a scheduler, which computes them anew, takes back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import OptionSet, SchedulerMade, SchedulerStepped, StateLoaded

_APART = math.log(2)
"""A rate that was set is half or double of the one before, at least: less may be the schedule itself."""

Scheduled = SchedulerMade | SchedulerStepped


class OverwrittenRate(Struct, frozen=True):
    """``group`` had the rate ``before`` from its scheduler, and the program set it to ``given``.

    ``overwritten`` brought it back to ``after``. ``steps`` ran in between, ``later`` is the first one after that.
    ``lines``: those of the source that may have set it.
    """

    optimizer: OptimizerRecord
    group: int
    before: float
    given: float
    after: float
    steps: tuple[Step, ...]
    overwritten: SchedulerStepped
    later: Step
    lines: tuple[OptionSet, ...]


def overwritten_rates(analysis: Analysis) -> Iterator[OverwrittenRate]:
    """The first of each optimizer. A warm-up by hand has no step before it, or sets the rate of several in a row."""
    capture = analysis.capture
    for optimizer in capture.placement.optimizers if not capture.history.folded else ():
        events: tuple[Scheduled, ...] = (*capture.events_of(SchedulerMade), *capture.events_of(SchedulerStepped))
        scheduled = [event for event in events if event.optimizer == optimizer.id]
        steps = [step for step in analysis.timeline.steps_of(optimizer.id).all if not step.error]
        if scheduled and len(steps) > 1:
            found = next(_found(analysis, optimizer, sorted(scheduled, key=lambda e: e.at), steps), None)
            if found is not None:
                yield found


def _found(
    analysis: Analysis, optimizer: OptimizerRecord, scheduled: list[Scheduled], steps: list[Step]
) -> Iterator[OverwrittenRate]:
    """Each time between two steps of the scheduler in which the rate is not the one that it left."""
    loads = [event.at for event in analysis.capture.events_of(StateLoaded) if event.optimizer == optimizer.id]
    lines = tuple(event for event in analysis.capture.events_of(OptionSet) if event.optimizer == optimizer.id)
    own = False
    """Whether the steps before took the rate that the scheduler had left."""
    for left, back in pairwise(scheduled):
        between = tuple(step for step in steps if left.at <= step.start and step.at < back.at)
        later = next((step for step in steps if step.start >= back.at), None)
        if not between:
            continue
        as_left = all(step.rates == left.rates for step in between)
        loaded = any(left.at <= at <= back.at for at in loads)
        if own and later is not None and not as_left and not loaded and isinstance(back, SchedulerStepped):
            rates = zip(left.rates, between[-1].rates, back.rates, later.rates, strict=False)
            for group, (before, given, after, taken) in enumerate(rates):
                if taken == after and _is_back(before, given, after):
                    yield OverwrittenRate(optimizer, group, before, given, after, between, back, later, lines)
        own = as_left


def _is_back(before: float, given: float, after: float) -> bool:
    """Whether a rate is about what it was before another one was given, and cannot have been computed from that one."""
    if before <= 0 or after <= 0 or given < 0:
        return False
    if given == 0:
        return True
    return abs(math.log(given / before)) >= _APART and abs(math.log(after / before)) < abs(math.log(after / given))
