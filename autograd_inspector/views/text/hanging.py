"""Sentences as text: names in them stay whole where there is room, and a continuation may stand further right."""

from __future__ import annotations

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.text import Text

from autograd_inspector.views.text.code_line import wrapped


class Hanging:
    """Wraps the text; every line but the first begins ``indent`` columns further right."""

    def __init__(self, text: Text, indent: int = 2) -> None:
        self._text = text
        self._indent = indent

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        first, *rest = wrapped(self._text, console, max(options.max_width - self._indent, 1))
        yield first
        for line in rest:
            yield Padding(line, (0, 0, 0, self._indent))

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """As rich asks for it: what it takes on one line."""
        return Measurement.get(console, options, self._text)


class Prose(Hanging):
    """Sentences whose lines all begin in one column."""

    def __init__(self, text: Text) -> None:
        super().__init__(text, 0)
