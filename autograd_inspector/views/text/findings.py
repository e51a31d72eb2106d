"""Findings as text: of each the line that did it, why, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograd_inspector.model.finding import Finding
from autograd_inspector.model.long_lines import LONGEST
from autograd_inspector.model.wording import counted, join_names
from autograd_inspector.views.display_text import UNSAFE, shown, tried_text, unedited_text
from autograd_inspector.views.text.hanging import Hanging, Prose
from autograd_inspector.views.text.places import Places

STYLES = {"error": "bold red", "warning": "bold yellow", "info": "bold cyan"}
FINDINGS = 400
"""More in one text nobody reads."""
_NAMES = 8
_CHANGES = 16
"""So many lines of a patch are shown; `report.to_patch()` has all."""
_CHANGED = {"-": "red", "+": "green"}
_SENTENCE = 120
"""Columns: in longer lines the eye loses its place."""


def more_findings(count: int) -> Iterator[RenderableType]:
    """How many of so many findings are not in the text."""
    if count > FINDINGS:
        yield Text("")
        yield Text(f"… and {counted(count - FINDINGS, 'finding')} more: `report.findings` and the page have all", "dim")


def finding_block(finding: Finding) -> RenderableType:
    """Everything about one finding: its name, its lines with the culprit marked, why, the fix."""
    places = [Places(finding.locations)] if finding.locations else []
    return Group(_title(finding), *places, Padding(Constrain(_sentences(finding), _SENTENCE), (0, 0, 0, 2)))


def answer_block(finding: Finding) -> RenderableType:
    """The same in short: its name, the culprit's line, why, the fix."""
    places = [Places(finding.locations[:1])] if finding.locations else []
    grid = _why(finding)
    _add_fix(grid, finding)
    return Group(_title(finding), *places, Padding(Constrain(grid, _SENTENCE), (0, 0, 0, 2)))


def _title(finding: Finding) -> Text:
    return Text.assemble(
        (finding.severity, STYLES[finding.severity]), f" {shown(finding.rule)} ", (shown(finding.name), "bold")
    )


def _why(finding: Finding) -> Table:
    grid = Table.grid()
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(Text("why: ", "dim"), Prose(Text(shown(finding.message, 4000))))
    return grid


def _sentences(finding: Finding) -> Table:
    grid = _why(finding)
    for detail in finding.details:
        grid.add_row("", Hanging(Text(f"· {shown(detail, 1000)}")))
    if not finding.names_all:
        names = join_names((shown(name, 80) for name in finding.subjects), _NAMES)
        grid.add_row("", Prose(Text(f"concerns: {names}", "dim")))
    _add_fix(grid, finding)
    for line in finding.changes[:_CHANGES]:
        grid.add_row("", _changed(shown(line, LONGEST + 1)))
    if finding.changes and finding.applicability == "unsafe":
        grid.add_row("", Prose(Text(f"({UNSAFE})", "dim")))
    if unedited_text(finding):
        grid.add_row("", Prose(Text(f"(no edit: {shown(unedited_text(finding), 400)})", "dim")))
    for text in finding.consequences:
        grid.add_row("", Prose(Text(f"follows from it: {shown(text, 400)}", "dim")))
    return grid


def _add_fix(grid: Table, finding: Finding) -> None:
    if finding.fix:
        lines = [shown(line, 400) for line in finding.fix.strip().split("\n")]
        tried = f" [{tried_text(finding)}]" if finding.verified else ""
        grid.add_row(Text("fix: ", "green"), Prose(Text("\n".join(lines) + tried, "green")))


def _changed(line: str) -> Hanging:
    """A line of the edit: what does not fit stands further right, for to the left it would be a line of its own."""
    indentation = len(line[1:]) - len(line[1:].lstrip())
    return Hanging(Text(line, _CHANGED.get(line[:1], "dim")), 1 + indentation + 4)
