"""Statements that do nothing, in the functions where something was observed."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.program_events import StatementIdle


def idle_here(analysis: Analysis, sites: Iterable[int], *names: str) -> list[StatementIdle]:
    """Those of these names that stand in a function which was running at one of the sites."""
    events = [event for event in analysis.capture.events_of(StatementIdle) if event.name in names]
    if not events:
        return []
    running = {
        (frame.filename, frame.function) for site in sites for frame in analysis.capture.site(site) if not frame.library
    }
    places = ((event, analysis.capture.place(event.site)) for event in events)
    return [event for event, place in places if place is not None and (place.filename, place.function) in running]
