"""A line of source in a terminal: where it is too long for its column, names in it stay whole."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from autograd_inspector.views.code_breaks import unbroken

_FILLED = 0.5
"""Of a column: a line of code that ends between words has at least so much."""


class CodeLine:
    """Wraps between words where that fills half of the column, else where code may be broken, else anywhere."""

    def __init__(self, text: Text, least: int) -> None:
        self._text = text
        self._least = least

    @property
    def columns(self) -> int:
        """What it takes on one line."""
        return self._text.cell_len

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        yield from _wrapped(self._text, console, options.max_width, _FILLED)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As rich asks for it: what it takes at least, and on one line."""
        return Measurement(min(self._least, self.columns), self.columns).with_maximum(options.max_width)


def wrapped(text: Text, console: Console, width: int) -> list[Text]:
    """Sentences line by line: a name is broken only where a whole line has no room for it, and with it what follows.

    Rich would break it anywhere, and leave the comma behind it on a line of its own.
    """
    return [line for part in text.split("\n", allow_blank=True) for line in _wrapped(part, console, width, 0)]


def _wrapped(text: Text, console: Console, width: int, filled: float) -> Iterator[Text]:
    for line in text.divide(_ends(text.plain, width, filled)):
        line.rstrip()
        # What is longer than the column in one piece.
        yield from line.wrap(console, width, overflow="fold") or [Text()]


def _ends(text: str, width: int, filled: float) -> Iterator[int]:
    """Where each line but the last ends, in characters."""
    start = end = between_words = 0
    for piece in unbroken(text):
        while end > start and cell_len(text[start : end + len(piece)].rstrip()) > width:
            far = between_words > start and cell_len(text[start:between_words]) > filled * width
            start = between_words if far else end
            yield start
        end += len(piece)
        if piece[-1:].isspace():
            between_words = end
