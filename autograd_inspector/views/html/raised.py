"""How the program ended, on a page: torch's own words are long, and say less than the finding."""

from __future__ import annotations

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.html.excerpts import lines_of
from autograd_inspector.views.markup import Markup, element
from autograd_inspector.views.summary import ending

_LONGEST = 4000


def raised_section(report: ReportData) -> list[Markup]:
    """The exception, folded where a finding stands for it; an interrupt in a sentence."""
    error = report.capture.error
    if error in ("", KeyboardInterrupt.__name__):
        return [element("p", ending(report), class_="ags-quiet")] if error else []
    opened = {} if report.findings else {"open": "open"}
    summary = element("summary", "What the program raised")
    return [element("details", summary, lines_of(error[:_LONGEST]), class_="ags-more", **opened)]
