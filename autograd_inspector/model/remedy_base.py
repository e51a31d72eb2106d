"""What every remedy is."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.location import Location


class Remedy(Struct, frozen=True, tag=True):
    """One thing to do, ``at`` a place that was observed."""

    at: Location
