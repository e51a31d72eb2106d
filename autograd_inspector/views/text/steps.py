"""What was counted over the steps, and what changed in which."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.summaries.steps import Row, steps_of
from autograd_inspector.views.text.sparkline import LONGEST, sparkline

_CHANGES = 12
_GAP = 2


class _Counts:
    """A line a count: what it is, its range, and the sparkline in the room that these leave."""

    def __init__(self, rows: tuple[Row, ...]) -> None:
        self._rows = rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        taken = max(cell_len(row.label) for row in self._rows) + max(cell_len(row.said) for row in self._rows)
        room = min(options.max_width - taken - 2 * _GAP, LONGEST)
        grid = Table.grid(padding=(0, _GAP))
        grid.add_column(style="dim", overflow="fold")
        grid.add_column(overflow="fold")
        grid.add_column(style="cyan", no_wrap=True)
        for row in self._rows:
            grid.add_row(row.label, row.said, sparkline(row.values, room) if room > 0 else "")
        yield grid


def steps_section(report: ReportData) -> Iterator[RenderableType]:
    """Counts with their lines, then the steps in which something was new."""
    steps = steps_of(report)
    if steps is None:
        return
    yield Text("")
    yield Text(f"steps: {steps.said}", "bold")
    if steps.rows:
        yield _Counts(steps.rows)
    changes = Table.grid(padding=(0, _GAP))
    changes.add_column(no_wrap=True)
    changes.add_column(style="cyan", no_wrap=True)
    changes.add_column(overflow="fold")
    for change in steps.changes[:_CHANGES]:
        place = report.capture.place(change.site)
        changes.add_row(f"step {change.step:,}", shown(place.place, 60) if place else "", shown(change.said, 400))
    if steps.changes:
        yield changes
    more = len(steps.changes[_CHANGES:]) + steps.untold
    if more:
        yield Text(f"… and {counted(more, 'change')} more", "dim")
