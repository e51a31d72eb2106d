"""Columns of numbers and strings that stand once: what makes a large capture small."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Hashable, Iterable
from operator import sub

from autograd_inspector.views.display_text import shown
from autograd_inspector.views.wire import Column, Packed, Width

_WIDTHS: tuple[tuple[Width, str, int], ...] = (("int8", "b", 1), ("int16", "h", 2), ("int32", "i", 4))
_FLOAT: tuple[Width, str, int] = ("float64", "d", 8)
_LONGEST = 1000


class _Ids(dict[Hashable, int]):
    """What was asked for once is looked up without a line of Python: a large capture asks a million times."""

    def ids(self, wanted: Iterable[Hashable]) -> list[int]:
        """The index of each."""
        return list(map(self.__getitem__, wanted))


class Strings(_Ids):
    """Each text once, as a reader sees it; -1 stands for none."""

    def __init__(self) -> None:
        super().__init__({None: -1, "": -1})
        self._shown: dict[str, int] = {}

    def __missing__(self, text: str) -> int:
        index = self[text] = self._shown.setdefault(legible(text), len(self._shown))
        return index

    @property
    def all(self) -> tuple[str, ...]:
        """The texts in the order of their indices."""
        return tuple(self._shown)


class Shapes(_Ids):
    """Shapes as texts among the others."""

    def __init__(self, strings: Strings) -> None:
        super().__init__({None: -1})
        self.strings = strings

    def __missing__(self, shape: tuple[int, ...]) -> int:
        index = self[shape] = self.strings["×".join(map(str, shape)) or "scalar"]
        return index


def legible(text: str, longest: int = _LONGEST) -> str:
    """The text with controls and lone surrogates spelled out, but for line breaks."""
    return "\n".join(shown(line, longest) for line in text.split("\n"))


class Columns:
    """Numbers, texts and shapes -> columns, whose numbers go into ``buffer`` if that is wanted."""

    def __init__(self, *, packed: bool) -> None:
        self.packed = packed
        self.buffer = bytearray()
        self.strings = Strings()
        self._shapes = Shapes(self.strings)

    def texts(self, texts: Iterable[str | None]) -> Column:
        """A column of indices into ``strings``."""
        return self.numbers(self.strings.ids(texts))

    def shapes(self, shapes: Iterable[tuple[int, ...] | None]) -> Column:
        """The same, of shapes."""
        return self.numbers(self._shapes.ids(shapes))

    def numbers(self, values: list[int]) -> Column:
        """A column of the numbers themselves."""
        if not self.packed or not values:
            return tuple(values)
        low, high = min(values), max(values)
        if low == high:
            return Packed(low, len(values), "constant")
        width, code, each = _narrowest(low, high)
        delta = False
        if each > 1:
            steps = [values[0], *map(sub, values[1:], values)]
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
