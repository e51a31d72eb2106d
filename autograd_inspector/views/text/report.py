"""The whole report as text, for terminals, logs and notebooks that show nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from autograd_inspector.analysis.compiled_code import compiled_functions, counts_of
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.analysis.step_history.history import history_of
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.options import at_least, one_of
from autograd_inspector.views.summaries.sums import sums_of
from autograd_inspector.views.summaries.table import Order, table_of
from autograd_inspector.views.summary import ending, headline
from autograd_inspector.views.text.checkpoint import checkpoint_section
from autograd_inspector.views.text.findings import FINDINGS, finding_block, more_findings
from autograd_inspector.views.text.gradients import origin_lines
from autograd_inspector.views.text.grid import Grid
from autograd_inspector.views.text.hanging import Hanging, Prose
from autograd_inspector.views.text.kept import fitting, kept_text
from autograd_inspector.views.text.module_tree import graph_section
from autograd_inspector.views.text.steps import steps_section
from autograd_inspector.views.text.terminal import NARROWEST, WIDTH
from autograd_inspector.views.text.vitals import vitals_section

_ROWS = 40
_HEIGHT = 25


def to_text(report: ReportData, *, width: int = WIDTH, color: bool = False, order: Order = "model") -> str:
    """Findings first, then the graph folded by module, the placement table, what happened to it, notes."""
    at_least("width", width, NARROWEST)
    one_of("order", order, Order)
    return rendered((*_findings(report), *_sections(report, order)), width=width, color=color)


def kept_of(report: ReportData) -> str:
    """The same as long as a notebook keeps it, see ``kept_text``."""

    def block(number: int) -> Iterable[RenderableType]:
        return Text(""), finding_block(report.findings[number])

    def short(room: int) -> str:
        findings = fitting(report.findings, block, _size, room)
        parts = (_heading(report), *findings, *_raised(report), *_sections(report, "model"))
        return rendered(parts, width=WIDTH, color=False)

    return kept_text(lambda: to_text(report), short)


def _size(parts: Iterable[RenderableType]) -> int:
    return len(rendered(parts, width=WIDTH, color=False))


def _sections(report: ReportData, order: Order) -> tuple[RenderableType, ...]:
    return (
        *checkpoint_section(report),
        *graph_section(report),
        *_compiled(report),
        *steps_section(report),
        *vitals_section(report),
        *_placement(report, order),
        *_history(report),
        *_notes(report),
    )


def rendered(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """The parts below one another, as text; ``color`` for a terminal that shows ANSI colours."""
    console = Console(
        file=io.StringIO(),
        width=width,
        height=_HEIGHT,  # else rich takes the size of a "dumb" terminal, whatever the width
        force_terminal=color,
        force_jupyter=False,  # else rich displays an empty output of its own in a notebook
        color_system="standard" if color else None,
        no_color=not color,  # who asks for colour has heard of NO_COLOR
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as text:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in text.get().split("\n")).rstrip("\n") + "\n"


def _findings(report: ReportData) -> Iterator[RenderableType]:
    yield _heading(report)
    for finding in report.findings[:FINDINGS]:
        yield Text("")
        yield finding_block(finding)
    yield from more_findings(len(report.findings))
    yield from _raised(report)


def _heading(report: ReportData) -> Text:
    return Text(f"autograd inspector: {headline(report)}", "bold")


def _raised(report: ReportData) -> Iterator[RenderableType]:
    if report.capture.error:
        # The answer stands above it. Where there is none, the exception is all there is.
        yield Text("")
        cut = any(finding.severity == "error" for finding in report.findings)
        text = Text(shown(ending(report), 400), "red", no_wrap=cut, overflow="ellipsis" if cut else "fold")
        yield Group(text)  # of a text by itself rich forgets how it wraps


def _placement(report: ReportData, order: Order) -> Iterator[RenderableType]:
    table = table_of(report.placement, order)
    if not table.rows:
        return
    yield Text("")
    yield Text("placement: where parameters, gradients and optimizer state live", "bold")
    yield from (Hanging(Text(line, "dim")) for line in sums_of(report.placement))
    if table.common:
        yield Hanging(Text(f"all of them: {shown(table.common)}", "dim"))
    yield Grid(table.headers, table.rows[:_ROWS])
    if len(table.rows) > _ROWS:
        yield Text(f"… and {counted(len(table.rows) - _ROWS, 'row')} more", "dim")
    yield from (Hanging(Text(line, "dim")) for line in origin_lines(report))


def _history(report: ReportData) -> Iterator[RenderableType]:
    events = history_of(report.capture)
    if not events:
        return
    yield Text("")
    yield Text("what happened to parameters and state", "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column()
    for event in events[:_ROWS]:
        place = report.capture.place(event.site)
        times = f" ×{event.times:,}" if event.times > 1 else ""
        description = Prose(Text(shown(event.said, 400), "yellow" if event.alarming else ""))
        grid.add_row(shown(place.place, 60) if place else "", Text(shown(event.api, 50) + times), description)
    yield grid
    if len(events) > _ROWS:
        yield Text(f"… and {counted(len(events) - _ROWS, 'event')} more", "dim")


def _compiled(report: ReportData) -> Iterator[RenderableType]:
    """Compiled functions that a note does not tell of: one graph each, compiled once."""
    whole = [event for event in compiled_functions(report.capture) if not (event.breaks or event.again)]
    if whole:
        yield Text("")
        yield Hanging(Text("; ".join(f"{shown(event.api, 50)}: {counts_of(event)}" for event in whole[:_ROWS]), "dim"))


def _notes(report: ReportData) -> Iterator[RenderableType]:
    if report.notes:
        yield Text("")
        yield Text("notes", "bold")
        yield from (Hanging(Text(f"· {shown(note, 600)}")) for note in report.notes)
