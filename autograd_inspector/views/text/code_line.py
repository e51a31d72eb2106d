"""A line of source in a terminal: where it is too long for its column, names in it stay whole."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from autograd_inspector.views.code_breaks import unbroken


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
        for line in self._text.divide(_ends(self._text.plain, options.max_width)):
            line.rstrip()
            # What is longer than the column in one piece.
            yield from line.wrap(console, options.max_width, overflow="fold") or [Text()]

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As rich asks for it: what it takes at least, and on one line."""
        return Measurement(min(self._least, self.columns), self.columns).with_maximum(options.max_width)


def _ends(text: str, width: int) -> Iterator[int]:
    """Where each line but the last ends, in characters."""
    start = end = between_words = 0
    for piece in unbroken(text):
        if end > start and cell_len(text[start : end + len(piece)].rstrip()) > width:
            far = between_words > start and 2 * cell_len(text[start:between_words]) > width
            start = between_words if far else end
            yield start
        end += len(piece)
        if piece[-1:].isspace():
            between_words = end
