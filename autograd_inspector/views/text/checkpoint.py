"""The checkpoint's section of the text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.summaries.checkpoint import Part, contents_of
from autograd_inspector.views.text.grid import Grid

_ROWS = 40
_PARTS = 40


def checkpoint_section(report: ReportData) -> Iterator[RenderableType]:
    """What the checkpoint holds, what goes where, and the statements that load it."""
    contents = contents_of(report)
    if contents is None:
        return
    yield Text("")
    yield Text(f"checkpoint: {shown(contents.title, 600)}", "bold")
    for part in contents.parts[:_PARTS]:
        yield from _part(part)
    if len(contents.parts) > _PARTS:
        yield Text(f"… and {counted(len(contents.parts) - _PARTS, 'state_dict')} more", "dim")
    if contents.plan:
        yield Text("")
        yield Text("to load it:", "bold")
        yield from (Text(f"  {shown(line, 400)}", "green") for line in contents.plan)


def _part(part: Part) -> Iterator[RenderableType]:
    yield Text("")
    yield Text(shown(part.title), "bold")
    yield from (Text(shown(line, 400), "dim") for line in part.lines)
    yield Grid(part.headers, part.rows[:_ROWS])
    if len(part.rows) > _ROWS:
        yield Text(f"… and {counted(len(part.rows) - _ROWS, 'row')} more", "dim")
