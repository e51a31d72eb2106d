"""What a notebook file keeps of a report: the wire as plain JSON, whole where it is small enough, else condensed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.encoding import heading_of, record_of
from autograd_inspector.views.notebook.condensed import condensed
from autograd_inspector.views.wire import Wire

CAPTURE = "application/vnd.autograd-inspector.capture+json"
"""The media type. The JupyterLab extension shows it where no kernel has the widget any more."""

LARGEST = 200_000
"""Bytes of JSON."""

_WHOLE = 1_500
"""Nodes beyond which no report fits; it is not tried."""
_ROWS = (400, 100, 25, 5)


def saved(report: ReportData) -> dict[str, Any]:
    """The report as the front end reads it, in at most ``LARGEST`` bytes of JSON.

    The same text for the same program: no duration, no ids, so that nbval can compare it.
    """
    text = b""
    for form in _forms(report):
        text = msgspec.json.encode(form)
        if len(text) <= LARGEST:
            break
    document: dict[str, Any] = msgspec.json.decode(text)
    return document


def _forms(report: ReportData) -> Iterator[Wire]:
    """The candidates, best first."""
    heading = heading_of(report)
    if len(report.graph.nodes) <= _WHOLE:
        heading["head"] = replace(heading["head"], seconds=0.0)
        yield replace(record_of(report), **heading)
    heading["head"] = replace(heading["head"], seconds=0.0, short=True)
    for rows in _ROWS:
        yield replace(record_of(condensed(report, rows=rows)), **heading)
