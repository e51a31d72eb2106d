"""Columns of numbers and strings that stand once: what makes a large capture small."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Hashable, Iterable
from contextlib import suppress
from operator import sub
from typing import Any

from autograd_inspector.views.display_text import shown
from autograd_inspector.views.wire import Column, Packed, Width

_Widths = tuple[tuple[Width, str], ...]
_WIDTHS: _Widths = (("int8", "b"), ("int16", "h"), ("int32", "i"))
_NAMES: tuple[Width, ...] = ("int8", "int16", "int32", "float64")
_SAMPLE = 200
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
        if values[0] == values[-1] and values.count(values[0]) == len(values):
            return Packed(values[0], len(values), "constant")
        width, data = _narrowest(values, _WIDTHS)
        narrower = _WIDTHS[: _NAMES.index(width)]
        delta = False
        # Where one of a few steps is too large, all of them need not be made.
        if narrower and _fit(values[:1], narrower) and _fit(_some_steps(values), narrower):
            steps = [values[0], *map(sub, values[1:], values)]
            if _fit(steps, narrower):
                (width, data), delta = _narrowest(steps, narrower), True
        if sys.byteorder == "big":
            data.byteswap()
        start = len(self.buffer)
        self.buffer += data.tobytes()
        return Packed(start, len(values), width, delta)


def _narrowest(values: list[int], widths: _Widths) -> tuple[Width, array[Any]]:
    """In the first of the widths that has room, else as floats; to try is faster than to look for least and most."""
    for width, code in widths:
        with suppress(OverflowError):
            return width, array(code, values)
    return "float64", array("d", values)


def _fit(values: list[int], widths: _Widths) -> bool:
    return _narrowest(values, widths[-1:])[0] != "float64"


def _some_steps(values: list[int]) -> list[int]:
    apart = max(1, len(values) // _SAMPLE)
    return [values[at] - values[at - 1] for at in range(1, len(values), apart)]
