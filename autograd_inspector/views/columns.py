"""Columns of numbers and strings that stand once: what makes a large capture small."""

from __future__ import annotations

import operator
import re
import sys
from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise, starmap
from typing import TypeVar

from msgspec import Struct

from autograd_inspector.views.shown import shown
from autograd_inspector.views.wire import Column, Packed, Width

T = TypeVar("T", bound=Struct)

_WIDTHS: tuple[tuple[Width, str, int], ...] = (("int8", "b", 1), ("int16", "h", 2), ("int32", "i", 4))
_FLOAT: tuple[Width, str, int] = ("float64", "d", 8)
_LONGEST = 1000
_SURROGATE = re.compile("[\ud800-\udfff]")


class Strings:
    """Each text once; -1 stands for none."""

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}
        self._shown: dict[str, int] = {}

    def id(self, text: str | None) -> int:
        """The index of a text, as a reader sees it."""
        if not text:
            return -1
        found = self._ids.get(text)
        if found is None:
            found = self._ids[text] = self._shown.setdefault(legible(text), len(self._shown))
        return found

    @property
    def all(self) -> tuple[str, ...]:
        """The texts in the order of their indices."""
        return tuple(self._shown)


def legible(text: str, longest: int = _LONGEST) -> str:
    """The text with controls spelled out but for line breaks, and with nothing that JSON cannot carry."""
    return "\n".join(_SURROGATE.sub("\ufffd", shown(line, longest)) for line in text.split("\n"))


class Tables:
    """Rows -> records of columns, which go into ``buffer`` if that is wanted."""

    def __init__(self, *, packed: bool) -> None:
        self.packed = packed
        self.buffer = bytearray()

    def table(self, kind: type[T], rows: Iterable[Sequence[int]]) -> T:
        """A record of ``kind`` with a column a field."""
        columns = list(zip(*rows, strict=True)) or [()] * len(kind.__struct_fields__)
        return kind(*[self._column(column) for column in columns])

    def _column(self, values: tuple[int, ...]) -> Column:
        if not self.packed or not values:
            return values
        low, high = min(values), max(values)
        if low == high:
            return Packed(low, len(values), "constant")
        width, code, each = _narrowest(low, high)
        delta = False
        if each > 1:
            steps = (values[0], *starmap(operator.sub, ((after, before) for before, after in pairwise(values))))
            narrow = _narrowest(min(steps), max(steps))
            if narrow[2] < each:
                (width, code, each), values, delta = narrow, steps, True
        data = array(code, values)
        if sys.byteorder == "big":
            data.byteswap()
        start = len(self.buffer)
        self.buffer += data.tobytes()
        return Packed(start, len(values), width, delta)


def _narrowest(low: int, high: int) -> tuple[Width, str, int]:
    for width in _WIDTHS:
        limit = 1 << (8 * width[2] - 1)
        if -limit <= low and high < limit:
            return width
    return _FLOAT
