"""A report in the output of a notebook cell, wherever the widget does not live: saved, converted, opened elsewhere.

No script, no ids but on request, nothing from the network, and nothing that differs from run to run.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.html.excerpts import lines_of
from autograd_inspector.views.html.finding import anchors_of, brief_section, finding_section, folded_section, pages_of
from autograd_inspector.views.html.raised import raised_section
from autograd_inspector.views.html.style import sheet
from autograd_inspector.views.markup import LINE_END, Markup, element, prose, together
from autograd_inspector.views.picture.image import image_of
from autograd_inspector.views.summaries.checkpoint import contents_of
from autograd_inspector.views.summaries.steps import steps_of
from autograd_inspector.views.summaries.sums import sums_of
from autograd_inspector.views.summary import graph_line, headline

LARGEST = 150_000
"""Characters of the whole; a notebook has many outputs."""
_OPEN = 6
"""Findings that are open; of the others the line stands there."""
_NOTES = 6
_LINES = 12


def output_html(report: ReportData, svg: str = "", *, linked: bool = False) -> str:
    """Findings, what torch raised, steps and bytes in a line each, notes, the picture, as far as there is room.

    ``linked``: links lead to the findings, for nothing else of the page has their ids.
    """
    style = element("style", sheet("finding.css"), sheet("output.css"))
    heading = element("p", element("strong", "autograd inspector"), " ", element("span", headline(report)))
    parts = [heading, *_fitting(report, LARGEST // 2, linked=linked), *raised_section(report), *_in_short(report)]
    picture = element("div", image_of(svg, graph_line(report)), class_="ags-frame") if svg else Markup()
    if sum(map(len, parts)) + len(picture) + len(style) > LARGEST:
        picture = Markup()
    # The style sheet comes last: a viewer that escapes it instead of dropping it still shows the answer first.
    lines = [piece for part in filter(None, (*parts, picture, style)) for piece in (part, LINE_END)]
    return element("div", LINE_END, *lines, class_="agi-static") + "\n"


def _fitting(report: ReportData, room: int, *, linked: bool) -> Iterator[Markup]:
    """The findings, most severe first, as long as there is room; one that has too much to show in short."""
    pages = pages_of(report.pages)
    anchors = anchors_of(report.findings) if linked else [""] * len(report.findings)
    for number, (finding, anchor) in enumerate(zip(report.findings, anchors, strict=True)):
        section = finding_section if number < _OPEN else folded_section
        part = section(finding, pages, anchor=anchor)
        part = part if len(part) <= room else brief_section(finding, anchor=anchor)
        room -= len(part)
        if room < 0:
            more = counted(len(report.findings) - number, "finding")
            yield element("p", f"… and {more} more: ", element("code", "report.findings"), " has all")
            return
        yield part
        pages.pop(finding.rule, None)  # One copy of a rule's page is enough.


def _in_short(report: ReportData) -> Iterator[Markup]:
    """Steps, checkpoint, bytes, notes."""
    steps, contents = steps_of(report), contents_of(report)
    if steps is not None:
        yield element("p", steps.said, class_="ags-quiet")
    if contents is not None:
        yield element("p", f"checkpoint: {shown(contents.title, 400)}", class_="ags-quiet")
        if contents.plan:
            yield together(element("p", "To load it:"), lines_of("\n".join(contents.plan[:_LINES]), "ags-example"))
    for line in sums_of(report.placement)[:1]:
        yield element("p", f"memory: {shown(line, 400)}", class_="ags-quiet")
    if report.notes:
        notes = [element("li", prose(shown(note, 600))) for note in report.notes[:_NOTES]]
        yield element("ul", *notes, class_="ags-quiet")
