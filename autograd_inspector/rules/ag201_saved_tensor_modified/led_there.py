"""What led to a modified tensor, where more is known than the line that modified it."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import Remedies


class LedThere(Struct, frozen=True):
    """``why`` continues the message, ``places`` come first among its locations, ``fix`` and ``cures`` go with them."""

    why: str
    fix: str
    places: tuple[Location, ...]
    cures: tuple[Remedies, ...]
