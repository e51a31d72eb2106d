"""Schedulers that step at each backward of a step that several of them lead to: the schedule runs that much faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import SchedulerStepped

_FEWEST = 2
"""Steps, and backwards for each."""


class FastScheduler(Struct, frozen=True):
    """``stepped`` is the first of the scheduler's steps, ``times`` so many it makes for each ``step`` of the optimizer.

    ``missed``: the schedule passes through rates other than 0, and each step of the optimizer meets a 0.
    """

    optimizer: OptimizerRecord
    stepped: SchedulerStepped
    step: Step
    times: int
    missed: bool


def fast_schedulers(analysis: Analysis) -> Iterator[FastScheduler]:
    """One for each optimizer with a scheduler that takes turns with the backwards, not with the optimizer's steps."""
    capture = analysis.capture
    for optimizer in capture.placement.optimizers if not capture.history.folded else ():
        scheduled = [event for event in capture.events_of(SchedulerStepped) if event.optimizer == optimizer.id]
        steps = [step for step in analysis.timeline.steps_of(optimizer.id).all if not step.error]
        if len(steps) < _FEWEST or len({event.site for event in scheduled}) != 1:
            continue
        held = set(optimizer.held)
        runs = [run for run in capture.completed_runs if run.nested_in < 0 and not held.isdisjoint(run.reached)]
        times = _between(runs, steps)
        if len(times) == 1 and min(times) >= _FEWEST and _take_turns(runs, scheduled):
            missed = all(map(at_rate_zero, steps)) and any(any(event.rates) for event in scheduled)
            yield FastScheduler(optimizer, scheduled[0], steps[0], times.pop(), missed)


def at_rate_zero(step: Step) -> bool:
    """Whether the learning rate is 0 for all that has a gradient."""
    return all(step.rate(p) == 0 for p in step.parameters if p.gradient >= 0)


def _between(runs: Sequence[Backward], steps: Sequence[Step]) -> set[int]:
    """How many backwards lead to a step."""
    ends = [-1, *(step.at for step in steps)]
    return {sum(ends[at] < run.end <= step.at for run in runs) for at, step in enumerate(steps)}


def _take_turns(runs: Sequence[Backward], scheduled: Sequence[SchedulerStepped]) -> bool:
    """Whether one step of the scheduler follows each backward, before the next one."""
    if len(runs) != len(scheduled):
        return False
    nexts = [*(run.start for run in runs[1:]), None]
    return all(
        run.end <= event.at and (following is None or event.at <= following)
        for run, event, following in zip(runs, scheduled, nexts, strict=True)
    )
