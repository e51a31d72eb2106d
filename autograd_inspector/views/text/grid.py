"""A table with a head, in whatever room there is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from autograd_inspector.views.display_text import shown
from autograd_inspector.views.text.hanging import Hanging

_BETWEEN = 3
"""Columns that rich puts between two cells: a blank on either side of each, and the box's own."""
_INDENT = 4


class Grid:
    """A row a record, its first cell the name. Cells wrap between words; names and words stay whole.

    Where that leaves no room for columns beside each other, each record is its name and a line of what it has.
    """

    def __init__(self, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self._headers = [shown(header) for header in headers]
        self._rows = [[shown(cell) for cell in row] for row in rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """As rich asks for it."""
        columns = list(zip(self._headers, *self._rows, strict=True))
        longest = [max(map(cell_len, column)) for column in columns]
        least = [longest[0], *(max(map(_longest_word, column)) for column in columns[1:])]
        room = options.max_width - _BETWEEN * (len(columns) - 1)
        if sum(least) > room:
            yield from self._records()
        else:
            yield self._table(_fitted(longest, least, room))

    def _table(self, widths: list[int]) -> Table:
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
        for number, (header, width) in enumerate(zip(self._headers, widths, strict=True)):
            grid.add_column(header, overflow="fold", style="" if number else "bold", width=width)
        for row in self._rows:
            grid.add_row(*map(Text, row))
        return grid

    def _records(self) -> Iterable[Text | Hanging]:
        for name, *cells in self._rows:
            said = [f"{header} {cell}" for header, cell in zip(self._headers[1:], cells, strict=True) if cell]
            yield Text(name, "bold", overflow="fold")
            yield Hanging(Text(" " * _INDENT + " · ".join(said)), _INDENT)


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)


def _fitted(widths: list[int], least: list[int], room: int) -> list[int]:
    """The widths, those with most to spare made narrower until all have room."""
    widths = list(widths)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda column: widths[column] - least[column])
        widths[widest] -= 1
    return widths
