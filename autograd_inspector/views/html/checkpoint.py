"""The checkpoint's section of the page."""

from __future__ import annotations

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.markup import Markup, element, together
from autograd_inspector.views.summaries.checkpoint import Part, contents_of

_ROWS = 400
_SHORT = 12


def checkpoint_section(report: ReportData) -> list[Markup]:
    """What the checkpoint holds, each state_dict folded, and the statements that load it."""
    contents = contents_of(report)
    if contents is None:
        return []
    parts = [element("h2", "Checkpoint"), element("p", contents.title, class_="ags-quiet")]
    parts += [_part(part) for part in contents.parts]
    if contents.plan:
        lines = [together(line, Markup("\n")) for line in contents.plan]
        parts += [element("p", "To load it:"), element("pre", *lines, class_="ags-example")]
    return parts


def _part(part: Part) -> Markup:
    head = element("tr", *[element("th", header) for header in part.headers])
    rows = [element("tr", *[element("td", text) for text in row]) for row in part.rows[:_ROWS]]
    lines = [element("p", line, class_="ags-quiet") for line in part.lines]
    table = element("div", element("table", head, *rows), class_="placement")
    opened = {"open": "open"} if len(part.rows) <= _SHORT else {}
    return element("details", element("summary", part.title), *lines, table, **opened)
