"""The lines of a finding, as text."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograd_inspector.model.location import Location
from autograd_inspector.model.long_lines import cut_around
from autograd_inspector.views.display_text import LONGEST, shown
from autograd_inspector.views.text.code_line import CodeLine

_SOURCE = 36
"""Columns below which a line of source is hard to read."""
_GAP = 2


_MARK = "> "
"""Of the line that did it; as wide as what stands before the others."""


class Places:
    """Role, place and source beside each other, the culprit first and marked.

    The source stands below them where their names leave it no room.
    """

    def __init__(self, locations: tuple[Location, ...]) -> None:
        self._rows = [
            (shown(location.role or "at", 40), shown(location.place, 60), CodeLine(source_text(location), _SOURCE))
            for location in locations
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        names = max(cell_len(role) for role, _, _ in self._rows) + max(cell_len(place) for _, place, _ in self._rows)
        longest = max(source.columns for _, _, source in self._rows)
        beside = options.max_width - len(_MARK) - names - 2 * _GAP >= min(_SOURCE, longest)
        yield self._beside() if beside else self._below()

    def _beside(self) -> Table:
        grid = Table.grid(padding=(0, _GAP))
        grid.add_column(style="magenta", no_wrap=True)
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column()
        for number, (role, place, source) in enumerate(self._rows):
            grid.add_row(_mark(number) + Text(role), place, source, style="" if number else "bold")
        return grid

    def _below(self) -> Table:
        grid = Table.grid()
        grid.add_column(overflow="fold")
        for number, (role, place, source) in enumerate(self._rows):
            style = "" if number else "bold"
            grid.add_row(_mark(number) + Text.assemble((role, "magenta"), " " * _GAP, (place, "cyan")), style=style)
            grid.add_row(Padding(source, (0, 0, 0, 3 * _GAP)), style=style)
        return grid


def _mark(number: int) -> Text:
    return Text(" " * len(_MARK)) if number else Text(_MARK, "bold red")


def source_text(location: Location) -> Text:
    """The line, with the expression that ran underlined."""
    source = cut_around(location.source, location.expression, LONGEST)
    text = Text(shown(source or f"(in {location.function})"))
    if 0 < len(location.expression) < len(location.source):
        start = text.plain.find(shown(location.expression))
        if start >= 0:
            text.stylize("underline", start, start + len(location.expression))
    return text
