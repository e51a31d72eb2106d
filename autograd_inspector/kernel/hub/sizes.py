"""How many bytes of the kernel a capture takes, about."""

from __future__ import annotations

from autograd_inspector.analysis.ranks_data import ReportOfRank
from autograd_inspector.analysis.report_data import ReportData

_RECORD = 800
"""Bytes of one record of a capture with all that it names: 650 to 790 in language models of 600 to 50,000 nodes."""
_GRAPH = 180
"""Bytes of a node or an edge of the graph."""


def held_bytes(report: ReportData) -> int:
    """Bytes that are free when nobody has the report any more; an estimate that counts records and reads none."""
    if isinstance(report, ReportOfRank):
        return sum(map(_alone, report.others.values()))
    return _alone(report)


def _alone(report: ReportData) -> int:
    capture, graph = report.capture, report.graph
    columns = (getattr(capture, name) for name in capture.__struct_fields__)
    records = sum(len(column) for column in columns if isinstance(column, tuple))
    return _RECORD * (records + len(capture.placement.rows)) + _GRAPH * (len(graph.nodes) + len(graph.edges))
