"""Where the program picked the parameters of an optimizer."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ParametersSelected


def selected_at(analysis: Analysis, site: int) -> tuple[Location, ...]:
    """The lines, by the site of what was given them."""
    events = (event for event in analysis.capture.events_of(ParametersSelected) if event.made == site)
    return tuple(
        place for event in events for place in analysis.user_frames(event.site, "parameters selected here")[:1]
    )
