"""What every remedy is."""

from __future__ import annotations

from msgspec import Struct


class Remedy(Struct, frozen=True, tag=True):
    """One thing to do."""
