"""Schedulers that step before their optimizer in each round, so that no step uses the first value of the schedule."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import SchedulerStepped

_FEWEST = 2
"""Rounds."""


class EarlyScheduler(Struct, frozen=True):
    """``stepped`` is the scheduler's step in the first round, ``step`` the optimizer's that followed."""

    optimizer: OptimizerRecord
    stepped: SchedulerStepped
    step: Step


def early_schedulers(analysis: Analysis) -> Iterator[EarlyScheduler]:
    """One for each optimizer that was made in the capture and took turns with one scheduler, which began and did not end.

    One that ended had its step after the optimizer's: a GradScaler left out the first step of that.
    """
    capture = analysis.capture
    for optimizer in capture.placement.optimizers if not capture.history.folded else ():
        scheduled = [event for event in capture.events_of(SchedulerStepped) if event.optimizer == optimizer.id]
        steps = [step for step in analysis.timeline.steps_of(optimizer.id).all if not step.error]
        if optimizer.site < 0 or len(steps) < _FEWEST or len(scheduled) != len(steps):
            continue
        befores = [-1, *(step.at for step in steps)]
        turns = zip(befores, scheduled, steps, strict=False)
        if len({event.site for event in scheduled}) == 1 and all(b < e.at <= s.start for b, e, s in turns):
            yield EarlyScheduler(optimizer, scheduled[0], steps[0])
