"""NaN or Inf where no values were read: what the program itself showed, and how to find where it comes from."""

from __future__ import annotations

import re

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.location import Location

_IN_MESSAGE = re.compile(r"(?<![\w.])(nan|inf)(?!\w)")


def unread(capture: Capture) -> tuple[str, ...]:
    """A note for whoever met a NaN or Inf without having opted in; it needs no look at a tensor."""
    if capture.values_read:
        return ()
    site, number = capture.nonfinite
    if not number:
        site, number = capture.error_site, " or ".join(sorted(set(_IN_MESSAGE.findall(capture.error)), reverse=True))
    if not number:
        return ()
    where = _quoted(capture.place(site))
    return (
        f"{number} occurred{where}, but tensor values were not read. With values=True (--values after the magic or the "
        "command), AG304 looks for the op that produced it.",
    )


def _quoted(place: Location | None) -> str:
    return "" if place is None else f" at {place.place} (`{place.source.strip()}`)"
