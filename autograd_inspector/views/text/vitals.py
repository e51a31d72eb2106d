"""The ten most telling rows of the vitals, each with its line over the steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.vitals import Vitals
from autograd_inspector.model.wording import counted
from autograd_inspector.views.summaries.telling import SAVINGS, saved_by, telling_rows

_GAP = 2


def vitals_section(report: ReportData) -> Iterator[RenderableType]:
    """The telling rows, and what checkpointing would save."""
    yield from vitals_rows(report.vitals, report.capture.models)
    if report.vitals:
        for saving in report.checkpoint_savings[:SAVINGS]:
            yield Text(saved_by(saving))


def vitals_rows(vitals: Vitals, models: Sequence[str] = ()) -> Iterator[RenderableType]:
    """What differs most from its neighbours, or changed most."""
    telling = telling_rows(vitals, models)
    if telling is None:
        return
    yield Text("")
    yield Text(f"vitals: {telling.span}", "bold")
    grid = Table.grid(padding=(0, _GAP))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_column(no_wrap=True)
    grid.add_column(style="cyan", no_wrap=True)
    for row in telling.rows:
        grid.add_row(row.title, row.label, row.said, row.line)
    yield grid
    if telling.rest:
        yield Text(f"… and {counted(telling.rest, 'row')} more: report.vitals.to_dataframe()", "dim")
