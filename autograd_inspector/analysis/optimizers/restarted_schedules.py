"""Schedules that begin anew behind a load: the state of the optimizer came back, and that of its scheduler did not."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import (
    SchedulerLoaded,
    SchedulerMade,
    SchedulerSaved,
    SchedulerStepped,
    StateLoaded,
    StateSaved,
)


class RestartedSchedule(Struct, frozen=True):
    """``loaded`` brought state of steps that a scheduler had driven; ``stepped`` is the first epoch of a new one.

    ``saved``: the state of a scheduler was saved beside that of its optimizer. Without it, a new schedule may be meant.
    """

    loaded: StateLoaded
    made: SchedulerMade
    stepped: SchedulerStepped
    step: Step
    saved: SchedulerSaved | None


def restarted_schedules(analysis: Analysis) -> Iterator[RestartedSchedule]:
    """One record for each optimizer: of its last load before any epoch of its scheduler.

    Who steps the scheduler alone until it is where the checkpoint was, or tells it the epoch, has brought it there.
    """
    capture = analysis.capture
    told = {event.optimizer for event in capture.events_of(SchedulerLoaded)}
    loads = {event.optimizer: event for event in capture.events_of(StateLoaded) if event.scheduled}
    for number, loaded in loads.items():
        own = [e for e in capture.events_of(SchedulerStepped) if e.optimizer == number and e.epoch > 0]
        made = [event for event in capture.events_of(SchedulerMade) if event.optimizer == number]
        step = next((step for step in analysis.timeline.steps_of(number).since(loaded.at) if not step.error), None)
        if number in told or not own or not made or step is None:
            continue
        anew = made[-1].epoch == 0 and own[0].epoch == 1 and own[0].at >= step.at
        if anew:
            yield RestartedSchedule(loaded, made[-1], own[0], step, _saved(analysis, loaded.at))


def _saved(analysis: Analysis, before: int) -> SchedulerSaved | None:
    """The last time that a scheduler's state was taken, between the same two steps as its optimizer's."""
    states = [event for event in analysis.capture.events_of(StateSaved) if event.at <= before]
    for event in reversed(analysis.capture.events_of(SchedulerSaved)):
        steps = analysis.timeline.steps_of(event.optimizer)
        beside = (s for s in states if s.optimizer == event.optimizer and steps.passed(s.at) == steps.passed(event.at))
        if event.at <= before and any(True for _ in beside):
            return event
    return None
