"""Where the gradients of the placement's parameters came from."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted, summarize_names
from autograd_inspector.views.display_text import shown
from autograd_inspector.views.summaries.gradient_origins import in_words

_LINES = 8


def origin_lines(report: ReportData) -> Iterator[str]:
    """Such as "gradient of net.* (4 parameters): from `loss` (train.py:40)": a line for all of the same origin."""
    names: dict[str, dict[str, None]] = {}
    for row in report.placement.rows:
        origin = report.gradient_origins.get(row.tensor)
        if origin is not None:
            names.setdefault(in_words(report.capture, origin), {})[row.name or "?"] = None
    for words, members in list(names.items())[:_LINES]:
        yield f"gradient of {shown(summarize_names(members), 200)}: {shown(words, 300)}"
    if len(names) > _LINES:
        yield f"… and {counted(len(names) - _LINES, 'other origin')}"
