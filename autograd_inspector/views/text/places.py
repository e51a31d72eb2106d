"""The lines of a finding, as text."""

from __future__ import annotations

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograd_inspector.model.location import Location
from autograd_inspector.views.display_text import shown

_SOURCE = 36
"""Columns below which a line of source is hard to read."""
_GAP = 2


class Places:
    """Role, place and source beside each other; the source below them where their names leave it no room."""

    def __init__(self, locations: tuple[Location, ...]) -> None:
        self._rows = [
            (shown(location.role or "at", 40), shown(location.place, 60), source_text(location))
            for location in locations
        ]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        names = max(cell_len(role) for role, _, _ in self._rows) + max(cell_len(place) for _, place, _ in self._rows)
        longest = max(source.cell_len for _, _, source in self._rows)
        beside = options.max_width - names - 2 * _GAP >= min(_SOURCE, longest)
        yield self._beside() if beside else self._below()

    def _beside(self) -> Table:
        grid = Table.grid(padding=(0, _GAP))
        grid.add_column(style="magenta", no_wrap=True)
        grid.add_column(style="cyan", no_wrap=True)
        grid.add_column(overflow="fold")
        for row in self._rows:
            grid.add_row(*row)
        return grid

    def _below(self) -> Table:
        grid = Table.grid()
        grid.add_column(overflow="fold")
        for role, place, source in self._rows:
            grid.add_row(Text.assemble((role, "magenta"), " " * _GAP, (place, "cyan")))
            grid.add_row(Padding(source, (0, 0, 0, 2 * _GAP)))
        return grid


def source_text(location: Location) -> Text:
    """The line, with the expression that ran underlined."""
    text = Text(shown(location.source or f"(in {location.function})"))
    if 0 < len(location.expression) < len(location.source):
        start = text.plain.find(shown(location.expression))
        if start >= 0:
            text.stylize("underline", start, start + len(location.expression))
    return text
