"""The whole report as text, for terminals, logs and notebooks that show nothing else."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.analysis.step_history.history import history_of
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.wording import counted, join_names
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.options import at_least, one_of
from autograd_inspector.views.summaries.steps import steps_of
from autograd_inspector.views.summaries.sums import sums_of
from autograd_inspector.views.summaries.table import Order, table_of
from autograd_inspector.views.summaries.tree import Branch, branches
from autograd_inspector.views.summary import graph_line, headline
from autograd_inspector.views.text.checkpoint import checkpoint_section
from autograd_inspector.views.text.gradients import origin_lines
from autograd_inspector.views.text.places import Places
from autograd_inspector.views.text.sparkline import sparkline

STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_TONES = {"error": "red", "warning": "yellow", "": "dim"}
_LINES = 60
_ROWS = 40
_NAMES = 8
_CHANGES = 12
FINDINGS = 400
"""More in one text nobody reads."""


def to_text(report: ReportData, *, width: int = 100, color: bool = False, order: Order = "model") -> str:
    """Findings first, then the graph folded by module, the placement table, what happened to it, notes."""
    at_least("width", width, 20)
    one_of("order", order, Order)
    parts = (
        *_findings(report),
        *checkpoint_section(report),
        *_graph(report),
        *_steps(report),
        *_placement(report, order),
        *_history(report),
        *_notes(report),
    )
    return rendered(parts, width=width, color=color)


def rendered(parts: Iterable[RenderableType], *, width: int, color: bool) -> str:
    """The parts below one another, as text; ``color`` for a terminal that shows ANSI colours."""
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=color,
        force_jupyter=False,  # else rich displays an empty output of its own in a notebook
        color_system="standard" if color else None,
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
    yield Text(f"autograd inspector: {headline(report)}", "bold")
    if report.capture.error:
        yield Text(f"the program raised {shown(report.capture.error.split(chr(10))[0], 400)}", "red")
    for finding in report.findings[:FINDINGS]:
        yield Text("")
        yield finding_block(finding)
    yield from more_findings(len(report.findings))


def more_findings(count: int) -> Iterator[RenderableType]:
    """How many of so many findings are not in the text."""
    if count > FINDINGS:
        yield Text("")
        yield Text(f"… and {counted(count - FINDINGS, 'finding')} more: `report.findings` and the page have all", "dim")


def finding_block(finding: Finding) -> RenderableType:
    """Everything about one finding."""
    parts: list[RenderableType] = [Text(shown(finding.message, 4000))]
    if finding.locations:
        parts.append(Places(finding.locations))
    parts += [Text(f"· {shown(detail, 1000)}") for detail in finding.details]
    if finding.subjects:
        names = join_names((shown(name, 80) for name in finding.subjects), _NAMES)
        parts.append(Text(f"concerns: {names}", "dim"))
    if finding.fix:
        lines = [shown(line, 400) for line in finding.fix.strip().split("\n")]
        parts.append(Text("fix: " + "\n     ".join(lines), "green"))
    parts += [Text(f"follows from it: {shown(text, 400)}", "dim") for text in finding.consequences]
    title = Text.assemble(
        (finding.severity, STYLES[finding.severity]), f"  {shown(finding.rule)} ", (shown(finding.name), "bold")
    )
    return Group(title, Padding(Group(*parts), (0, 0, 0, 2)))


def _graph(report: ReportData) -> Iterator[RenderableType]:
    if not report.graph.nodes:
        return
    yield Text("")
    yield Text(f"graph: {graph_line(report)}", "bold")
    roots = branches(report)
    depth = next((d for d in (6, 5, 4, 3, 2) if _count(roots, d) <= _LINES), 1)
    tree = Tree("", hide_root=True, guide_style="dim")
    for branch in roots[:_LINES]:
        _grow(tree, branch, depth)
    if len(roots) > _LINES:
        tree.add(Text(f"… and {counted(len(roots) - _LINES, 'line')} more", "dim"))
    yield tree


def _count(siblings: tuple[Branch, ...], depth: int) -> int:
    return sum(1 + len(b.marks) + (_count(b.children, depth - 1) if depth > 1 else 0) for b in siblings)


def _grow(tree: Tree, branch: Branch, depth: int) -> None:
    line = Text(shown(branch.name, 60), "bold")
    if branch.times > 1:
        line.append(f" ×{branch.times}", "bold")
    line.append(f"  {shown(branch.type, 60)}", "cyan")
    details = [counted(branch.total, "op")]
    if branch.ops and (not branch.children or branch.total <= _NAMES):
        details = [branch.ops]
    if branch.nbytes:
        details.append(f"{size(branch.nbytes)} saved")
    if branch.times > 1:
        details.append("each")
    if branch.recomputed:
        details.append("during backward")
    line.append(f"  {' · '.join(details)}", "dim")
    grown = tree.add(line)
    for what, where, tone in branch.marks:
        mark = Text(f"✂ {what}" if what.startswith("cut") else f"! {what}", _TONES[tone])
        grown.add(mark.append(f"  {shown(where)}", "dim"))
    if depth > 1:
        for child in branch.children:
            _grow(grown, child, depth - 1)


def _placement(report: ReportData, order: Order) -> Iterator[RenderableType]:
    table = table_of(report.placement, order)
    if not table.rows:
        return
    yield Text("")
    yield Text("placement: where parameters, gradients and optimizer state live", "bold")
    yield from (Text(line, "dim") for line in sums_of(report.placement))
    if table.common:
        yield Text(f"all of them: {shown(table.common)}", "dim")
    grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for number, header in enumerate(table.headers):
        grid.add_column(header, overflow="fold", style="bold" if number == 0 else "", ratio=None)
    for row in table.rows[:_ROWS]:
        grid.add_row(*[Text(shown(text)) for text in row])
    yield grid
    if len(table.rows) > _ROWS:
        yield Text(f"… and {counted(len(table.rows) - _ROWS, 'row')} more", "dim")
    yield from (Text(line, "dim") for line in origin_lines(report))


def _steps(report: ReportData) -> Iterator[RenderableType]:
    steps = steps_of(report)
    if steps is None:
        return
    yield Text("")
    yield Text(f"steps: {steps.said}", "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="cyan", no_wrap=True)
    for row in steps.rows:
        grid.add_row(row.label, row.said, sparkline(row.values))
    yield grid
    changes = Table.grid(padding=(0, 2))
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


def _history(report: ReportData) -> Iterator[RenderableType]:
    events = history_of(report.capture)
    if not events:
        return
    yield Text("")
    yield Text("what happened to parameters and state", "bold")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for event in events[:_ROWS]:
        place = report.capture.place(event.site)
        times = f" ×{event.times:,}" if event.times > 1 else ""
        description = Text(shown(event.said, 400), "yellow" if event.alarming else "")
        grid.add_row(shown(place.place, 60) if place else "", Text(shown(event.api, 50) + times), description)
    yield grid
    if len(events) > _ROWS:
        yield Text(f"… and {counted(len(events) - _ROWS, 'event')} more", "dim")


def _notes(report: ReportData) -> Iterator[RenderableType]:
    if report.notes:
        yield Text("")
        yield Text("notes", "bold")
        yield from (Text(f"· {shown(note, 600)}") for note in report.notes)
