"""The whole report as one static page: no script, nothing from the network."""

from __future__ import annotations

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.analysis.step_history.history import history_of
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.html.checkpoint import checkpoint_section
from autograd_inspector.views.html.finding import anchors_of, finding_section, pages_of
from autograd_inspector.views.html.raised import raised_section
from autograd_inspector.views.html.steps import steps_section
from autograd_inspector.views.html.style import sheet
from autograd_inspector.views.html.vitals import vitals_part
from autograd_inspector.views.markup import Markup, element, prose, together
from autograd_inspector.views.picture.dot import to_dot
from autograd_inspector.views.picture.render import DrawingError, GraphvizMissingError, svg_of
from autograd_inspector.views.summaries.sums import sums_of
from autograd_inspector.views.summaries.table import table_of
from autograd_inspector.views.summaries.telling import SAVINGS, saved_by
from autograd_inspector.views.summaries.tree import Branch, branches
from autograd_inspector.views.summary import graph_line, headline

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_ROWS = 400
_OPEN = 2


def to_html(report: ReportData) -> str:
    """Findings, the picture, the module tree, the steps, the placement table and its history, notes."""
    return page_of(
        headline(report),
        *_findings(report),
        *checkpoint_section(report),
        *_graph(report),
        *steps_section(report),
        *_placement(report),
        *_history(report),
        *vitals_part(report.vitals, report.capture.models, map(saved_by, report.checkpoint_savings[:SAVINGS])),
        *_notes(report),
    )


def page_of(title: str, *parts: Markup) -> str:
    """The page with these parts: its style inside, no script, nothing from the network."""
    style = together(sheet("page.css"), sheet("finding.css"))
    head = together(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"autograd inspector: {title}"),
        element("style", style),
    )
    page = element(
        "html", element("head", head), element("body", element("main", *parts, class_="agi-static")), lang="en"
    )
    return f"<!doctype html>\n{page}\n"


def _findings(report: ReportData) -> list[Markup]:
    parts = [element("h1", "autograd inspector"), element("p", headline(report), class_="ags-quiet")]
    pages = pages_of(report.pages)
    for finding, anchor in zip(report.findings, anchors_of(report.findings), strict=True):
        parts.append(finding_section(finding, pages, anchor=anchor, heading="h3"))
    parts += raised_section(report)
    return parts


def _graph(report: ReportData) -> list[Markup]:
    if not report.graph.nodes:
        return []
    parts = [element("h2", "Graph"), element("p", graph_line(report), class_="ags-quiet")]
    try:
        parts.append(element("div", Markup(svg_of(to_dot(report))), class_="picture"))
    except (GraphvizMissingError, DrawingError) as error:
        parts.append(element("p", str(error), class_="ags-quiet"))
    parts.append(element("h2", "Modules"))
    return [*parts, *[_branch(branch, depth=0) for branch in branches(report)[:_ROWS]]]


def _branch(branch: Branch, *, depth: int) -> Markup:
    details = [branch.ops if branch.ops and not branch.children else counted(branch.total, "op")]
    if branch.nbytes:
        details.append(f"{size(branch.nbytes)} saved")
    if branch.recomputed:
        details.append("during backward")
    times = f" ×{branch.times}" if branch.times > 1 else ""
    kind = element("code" if branch.source else "span", shown(branch.type))
    line = together(
        element("b", branch.name, times), " ", kind, " ", element("span", " · ".join(details), class_="ags-quiet")
    )
    marks = [
        element("li", f"{what}  {where}", class_=f"ags-{tone}" if tone else "") for what, where, tone in branch.marks
    ]
    below = [element("ul", *marks, class_="marks")] if marks else []
    if not branch.children:
        return together(element("div", line, class_="leaf"), *below)
    children = [_branch(child, depth=depth + 1) for child in branch.children]
    opened = {"open": "open"} if depth < _OPEN or branch.alarming else {}
    return element("details", element("summary", line), *below, *children, **opened)


def _placement(report: ReportData) -> list[Markup]:
    table = table_of(report.placement)
    if not table.rows:
        return []
    head = element("tr", *[element("th", header) for header in table.headers])
    rows = [element("tr", *[element("td", text) for text in row]) for row in table.rows[:_ROWS]]
    lines = [*sums_of(report.placement), *([f"all of them: {table.common}"] if table.common else [])]
    return [
        element("h2", "Placement"),
        *[element("p", line, class_="ags-quiet") for line in lines],
        element("div", element("table", head, *rows), class_="placement"),
    ]


def _history(report: ReportData) -> list[Markup]:
    """Steps, loads and conversions, each with the line that did it."""
    rows = []
    for event in history_of(report.capture)[:_ROWS]:
        place = report.capture.place(event.site)
        times = f" ×{event.times:,}" if event.times > 1 else ""
        cells = (
            element("td", place.place if place else ""),
            element("td", element("code", event.api), times),
            element("td", prose(event.said), class_="ags-warning" if event.alarming else ""),
        )
        rows.append(element("tr", *cells))
    if not rows:
        return []
    table = element("table", *rows, class_="places")
    return [element("h2", "What happened to parameters and state"), element("div", table, class_="history")]


def _notes(report: ReportData) -> list[Markup]:
    if not report.notes:
        return []
    return [element("h2", "Notes"), element("ul", *[element("li", prose(note)) for note in report.notes])]
