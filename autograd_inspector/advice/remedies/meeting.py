"""Where two things that ran in different functions meet: the lines of one function that led to them."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location


def meeting(analysis: Analysis, one: int, other: int) -> tuple[Location, Location] | None:
    """The places in the innermost function that both sites have in common; None where there is none, or one line."""
    return meeting_of(analysis.capture.site(one), analysis.capture.site(other))


def meeting_of(one: Iterable[Location], other: Iterable[Location]) -> tuple[Location, Location] | None:
    """The same for frames, innermost first.

    Two that have one line of a function in common ran in one statement of it: nothing there parts them.
    """
    second = [frame for frame in other if not frame.library]
    for place in one:
        for partner in () if place.library else second:
            if place.scope == partner.scope:
                return None if place.lineno == partner.lineno else (place, partner)
    return None
