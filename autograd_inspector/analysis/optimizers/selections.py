"""Where the program put together the parameters of an optimizer, picked them, or put them in order."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.program_events import ParametersCollected, ParametersSelected


def selected_at(analysis: Analysis, site: int) -> tuple[Location, ...]:
    """The lines that pick, by the site of what was given the parameters."""
    return _lines(analysis, site, "parameters selected here", ordered=False)


def ordered_at(analysis: Analysis, site: int) -> tuple[Location, ...]:
    """The lines that sort, reverse or shuffle."""
    return _lines(analysis, site, "order changed here", ordered=True)


def collected_at(analysis: Analysis, site: int) -> tuple[Location, ...]:
    """The statements that put together the list under whose name an optimizer was given them."""
    return tuple(
        place
        for event in analysis.capture.events_of(ParametersCollected)
        if event.made == site
        for place in analysis.user_frames(event.site, _UNDER_CONDITION if event.conditional else _COLLECTED)[:1]
    )


_COLLECTED = "parameters collected here"
_UNDER_CONDITION = "collected here under a condition"


def _lines(analysis: Analysis, site: int, role: str, *, ordered: bool) -> tuple[Location, ...]:
    events = (event for event in analysis.capture.events_of(ParametersSelected) if event.made == site)
    return tuple(
        place for event in events if event.ordered == ordered for place in analysis.user_frames(event.site, role)[:1]
    )
