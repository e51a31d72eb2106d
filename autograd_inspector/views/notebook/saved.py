"""What a notebook file keeps of a report: the wire as one compact string, whole where it fits, else condensed.

nbformat writes JSON with each number on a line of its own: in that form, a capture takes eight times as many bytes.
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.views.encoding import heading_of, record_of, wired
from autograd_inspector.views.notebook.condensed import condensed
from autograd_inspector.views.wire import WIRE, Wire

CAPTURE = "application/vnd.autograd-inspector.capture+json"
"""The media type. The JupyterLab extension shows it where no kernel has the widget any more."""

LARGEST = 200_000
"""Bytes of JSON in the file."""

WHOLE = 8_000
"""Nodes beyond which no report fits; it is not tried."""
_ROWS = (400, 100, 25, 5)
_AROUND = 100
"""Bytes of the document beside its text, at most."""


def saved(report: ReportData) -> dict[str, Any]:
    """``{"wire": …, "text": …}``: the report as the front end reads it, in at most ``LARGEST`` bytes of JSON.

    The text is base64 of deflated bytes: the wire's JSON, a line break, the buffer that its columns point into. The
    same text for the same program: no duration, no ids, so that nbval can compare it.
    """
    document: dict[str, Any] = {}
    for record, buffer in _forms(report):
        document = closed(msgspec.json.encode(record), buffer)
        if len(document["text"]) <= LARGEST - _AROUND:
            break
    return document


def closed(wire: bytes, buffer: bytes = b"") -> dict[str, Any]:
    """The saved document of a wire, which is JSON, and its buffer."""
    return {"wire": WIRE, "text": b64encode(zlib.compress(wire + b"\n" + buffer)).decode()}


def opened(document: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The wire and the buffer of a saved document.

    That of an earlier release is the wire itself. Raises ValueError, or zlib.error, for what is no such document.
    """
    if "text" not in document:
        return document, b""
    text, _, buffer = zlib.decompress(b64decode(document["text"])).partition(b"\n")
    return msgspec.json.decode(text), buffer


def _forms(report: ReportData) -> Iterator[tuple[Wire, bytes]]:
    """The candidates, best first."""
    if len(report.graph.nodes) <= WHOLE:
        record, buffer = wired(report)
        yield replace(record, head=replace(record.head, seconds=0.0)), buffer
    heading = heading_of(report)
    heading["head"] = replace(heading["head"], seconds=0.0, short=True)
    for rows in _ROWS:
        yield replace(record_of(condensed(report, rows=rows)), **heading), b""
