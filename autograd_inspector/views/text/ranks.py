"""The report of several ranks as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from autograd_inspector.model.ranked_vitals import RankedVitals
from autograd_inspector.model.ranks import Lane, RankedFinding, RankedPlacement
from autograd_inspector.model.ranks import ranks_text as of_ranks
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.summaries.ranks import differences, headline, lane_lines, peak_lines, ranked_table, sums
from autograd_inspector.views.text.findings import FINDINGS, finding_block, more_findings
from autograd_inspector.views.text.grid import Grid
from autograd_inspector.views.text.hanging import Hanging
from autograd_inspector.views.text.report import rendered
from autograd_inspector.views.text.vitals import vitals_rows

_ROWS = 40
_COLUMNS = 8
_MARKS = 12


def ranks_text(
    placement: RankedPlacement,
    findings: Sequence[RankedFinding],
    notes: Sequence[str],
    lanes: Sequence[Lane],
    vitals: RankedVitals,
    *,
    width: int,
    color: bool,
) -> str:
    """Findings with their ranks, a lane and a column for each rank, where ranks differ, vitals, notes."""
    parts = (
        Text(f"autograd inspector: {headline(placement, findings)}", "bold"),
        *_findings(findings),
        *_lanes(lanes),
        *_table(placement),
        *_vitals(vitals),
        *_notes(notes),
    )
    return rendered(parts, width=width, color=color)


def _findings(findings: Sequence[RankedFinding]) -> Iterator[RenderableType]:
    for each in findings[:FINDINGS]:
        yield Text("")
        yield Text(f"on {of_ranks(each.ranks)}", "dim")
        yield finding_block(each.finding)
    yield from more_findings(len(findings))


def _lanes(lanes: Sequence[Lane]) -> Iterator[RenderableType]:
    """Only where ranks went different ways: what they all did is no news."""
    if not lanes[1:] or not any(lane.marks or lane.ending for lane in lanes):
        return
    yield Text("")
    yield Text("timeline: where ranks differ", "bold")
    for ranks, line in lane_lines(lanes[:_COLUMNS], _MARKS):
        yield Hanging(Text(f"{ranks}: {shown(line, 600)}"))


def _table(placement: RankedPlacement) -> Iterator[RenderableType]:
    table = ranked_table(placement, _COLUMNS)
    yield Text("")
    if not table.rows:
        yield Text("no rank holds a parameter", "dim")
        return
    yield Text("placement: what each rank holds", "bold")
    yield Text(sums(placement), "dim")
    if table.common:
        yield Text(f"all of them: {shown(table.common, 400)}", "dim")
    *rows, total = table.rows
    yield Grid(table.headers, [*rows[:_ROWS], total])
    if len(rows) > _ROWS:
        yield Text(f"… and {counted(len(rows) - _ROWS, 'row')} more", "dim")
    yield from (Hanging(Text(f"! {shown(line, 600)}", "yellow")) for line in differences(placement))


def _vitals(vitals: RankedVitals) -> Iterator[RenderableType]:
    yield from vitals_rows(vitals.whole)
    yield from (Text(line) for line in peak_lines(vitals))


def _notes(notes: Sequence[str]) -> Iterator[RenderableType]:
    if notes:
        yield Text("")
        yield Text("notes", "bold")
        yield from (Hanging(Text(f"· {shown(note, 600)}")) for note in notes)
