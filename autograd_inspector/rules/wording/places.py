"""The lines that a finding shows."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.location import Location

CALLER = "called from"
"""The role of a line that called the one that plays a part."""


def unique(locations: Iterable[Location]) -> tuple[Location, ...]:
    """Each line once, in its first role; having called another line is none, where it has one of its own as well."""
    seen: dict[tuple[str, int], Location] = {}
    for location in locations:
        line = location.filename, location.lineno
        known = seen.setdefault(line, location)
        if known.role == CALLER != location.role:
            seen[line] = location
    return tuple(seen.values())
