"""Options that the program set and no step used: a load brought those of the saved groups.

Who resumes a run whose options changed while it ran wants those of the file. Where the run that was saved is known, and
changed its learning rate, nothing is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.program_events import OptionReplaced, SchedulerMade, StateLoaded, StateSaved


class OptionLoadedOver(Struct, frozen=True):
    """``loaded`` replaced ``option``, and ``step`` is the next one. ``saved``: the state, by a run in which it was always the same."""

    loaded: StateLoaded
    option: OptionReplaced
    step: Step
    saved: StateSaved | None


def options_loaded_over(analysis: Analysis) -> Iterator[OptionLoadedOver]:
    """The first option of each optimizer."""
    told: set[int] = set()
    scheduled = {event.optimizer for event in analysis.capture.events_of(SchedulerMade)}
    for loaded in analysis.capture.events_of(StateLoaded):
        steps = analysis.timeline.steps_of(loaded.optimizer)
        step = next((step for step in steps.since(loaded.at) if not step.error), None)
        if step is None or loaded.optimizer in told | scheduled:
            continue
        saved = _saved(analysis, loaded) if loaded.replaced else None
        for option in loaded.replaced:
            used = {s.rates[option.group] for s in steps.before(loaded.at) if len(s.rates) > option.group}
            in_force = option.option != "lr" or (
                len(step.rates) > option.group and step.rates[option.group] == option.after
            )
            kept = _now(analysis, loaded.optimizer, option) == option.after
            changing = saved is not None and not _constant(analysis, saved, option)
            if option.before not in used and in_force and kept and not changing:
                told.add(loaded.optimizer)
                yield OptionLoadedOver(loaded, option, step, saved)
                break


def _now(analysis: Analysis, optimizer: int, option: OptionReplaced) -> object:
    groups = analysis.capture.placement.optimizers[optimizer].groups
    return groups[option.group].get(option.option) if option.group < len(groups) else None


def _saved(analysis: Analysis, loaded: StateLoaded) -> StateSaved | None:
    """The last time that the state of an optimizer of that class was saved."""
    events = analysis.capture.events_of(StateSaved)
    return next((e for e in reversed(events) if e.at <= loaded.at and e.type == loaded.type), None)


def _constant(analysis: Analysis, saved: StateSaved, option: OptionReplaced) -> bool:
    steps = analysis.timeline.steps_of(saved.optimizer).before(saved.at)
    return option.option != "lr" or {s.rates[option.group] for s in steps if len(s.rates) > option.group} <= {
        option.after
    }
