"""A report in the forms that a front end can ask for."""

from __future__ import annotations

from collections.abc import Callable

from autograd_inspector.analysis.ranks_data import ReportOfRank
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.archive import encode
from autograd_inspector.views.html.page import to_interactive_html
from autograd_inspector.views.picture.dot import to_dot
from autograd_inspector.views.text.report import to_text


def _dot(report: ReportData) -> str:
    source: str = to_dot(report).source
    return source


def _json(report: ReportData) -> str:
    """Of several ranks, what they have together: what ``RanksReport.from_json`` reads."""
    return encode(report.ranks if isinstance(report, ReportOfRank) else report)


_FORMS: dict[str, Callable[[ReportData], str]] = {
    "json": _json,
    "dot": _dot,
    "text": to_text,
    "html": to_interactive_html,
}


def writer_of(form: object) -> Callable[[ReportData], str]:
    """What writes a report in that form; raises ValueError for one that there is not."""
    if not isinstance(form, str) or form not in _FORMS:
        raise ValueError(f"cannot export as {form!r}; there is {', '.join(_FORMS)}")
    return _FORMS[form]
