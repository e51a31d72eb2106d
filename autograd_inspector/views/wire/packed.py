"""A column: numbers, or where in the buffer they are."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Width = Literal["constant", "int8", "int16", "int32", "float64"]


class Packed(Struct, frozen=True, gc=False):
    """A column in the buffer: ``count`` little-endian numbers from byte ``start`` on.

    ``constant``: all are ``start``, and no bytes are needed. ``delta``: each is the difference from the one before.
    """

    start: int
    count: int
    width: Width
    delta: bool = False


Column = tuple[int, ...] | Packed
