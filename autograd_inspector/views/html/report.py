"""The whole report as one static page: no script, nothing from the network."""

from __future__ import annotations

from importlib.resources import files

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.analysis.step_history.history import history_of
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.html.checkpoint import checkpoint_section
from autograd_inspector.views.html.steps import steps_section
from autograd_inspector.views.markup import Markup, element, prose, together
from autograd_inspector.views.picture.dot import to_dot
from autograd_inspector.views.picture.render import DrawingError, GraphvizMissingError, svg_of
from autograd_inspector.views.summaries.sums import sums_of
from autograd_inspector.views.summaries.table import table_of
from autograd_inspector.views.summaries.tree import Branch, branches
from autograd_inspector.views.summary import ending, graph_line, headline

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
        *_notes(report),
    )


def page_of(title: str, *parts: Markup) -> str:
    """The page with these parts: its style inside, no script, nothing from the network."""
    style = Markup(files("autograd_inspector.views.html").joinpath("page.css").read_text(encoding="utf-8"))
    head = together(
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"autograd inspector: {title}"),
        element("style", style),
    )
    page = element("html", element("head", head), element("body", together(*parts)), lang="en")
    return f"<!doctype html>\n{page}\n"


def _findings(report: ReportData) -> list[Markup]:
    parts = [element("h1", "autograd inspector"), element("p", headline(report), class_="quiet")]
    if report.capture.error:
        parts.append(element("p", ending(report), class_="raised"))
    return parts + [finding_section(finding) for finding in report.findings]


def finding_section(finding: Finding) -> Markup:
    """Everything about one finding."""
    title = together(element("span", finding.severity, class_="severity"), f"{finding.rule} {finding.name}")
    parts = [element("h3", title), element("p", prose(finding.message))]
    if finding.locations:
        parts.append(element("table", *[_place(place) for place in finding.locations], class_="places"))
    if finding.details:
        parts.append(element("ul", *[element("li", prose(text)) for text in finding.details], class_="story"))
    if finding.subjects:
        parts.append(element("p", f"concerns: {', '.join(finding.subjects)}", class_="quiet"))
    if finding.fix:
        # Line by line: on a page of its own a line break is the one control character that a fix may keep.
        lines = [together(prose(line), Markup("\n")) for line in finding.fix.strip().split("\n")]
        parts.append(element("pre", "fix: ", *lines, class_="fix"))
    parts += [element("p", "follows from it: ", prose(text), class_="quiet") for text in finding.consequences]
    return element("section", *parts, class_=f"finding {finding.severity}")


def _place(location: Location) -> Markup:
    return element(
        "tr",
        element("td", location.role or "at", class_="role"),
        element("td", location.place),
        element("td", _source(location), class_="code"),
    )


def _source(location: Location) -> Markup:
    """The line, with the expression that ran marked."""
    before, expression, after = location.source.partition(location.expression or "\0")
    if not expression or not (before or after):
        return element("code", location.source or f"(in {location.function})")
    return element("code", before, element("mark", expression), after)


def _graph(report: ReportData) -> list[Markup]:
    if not report.graph.nodes:
        return []
    parts = [element("h2", "Graph"), element("p", graph_line(report), class_="quiet")]
    try:
        parts.append(element("div", Markup(svg_of(to_dot(report))), class_="picture"))
    except (GraphvizMissingError, DrawingError) as error:
        parts.append(element("p", str(error), class_="quiet"))
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
        element("b", branch.name, times), " ", kind, " ", element("span", " · ".join(details), class_="quiet")
    )
    marks = [
        element("li", f"{what}  {where}", class_=f"alarm {tone}" if tone else "") for what, where, tone in branch.marks
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
        *[element("p", line, class_="quiet") for line in lines],
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
            element("td", prose(event.said), class_="alarm" if event.alarming else ""),
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
