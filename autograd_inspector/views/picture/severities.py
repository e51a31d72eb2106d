"""How grave it is what a picture shows, as the widget draws it: the worst of what was found there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.finding import SEVERITIES, Severity
from autograd_inspector.model.graph import GraphEdge, GraphNode
from autograd_inspector.views.picture.labels import ended

Gravity = Literal["error", "warning", "info", ""]
_ORDER: tuple[Gravity, ...] = (*SEVERITIES, "")


class Severities:
    """Of the nodes and cuts of one report."""

    def __init__(self, report: ReportData) -> None:
        self._capture = report.capture
        self._found: dict[int, list[Severity]] = {}
        for finding in report.findings:
            for op in finding.ops:
                if op in report.graph.by_op:
                    self._found.setdefault(report.graph.by_op[op], []).append(finding.severity)

    def of_node(self, node: GraphNode) -> Gravity:
        """An error where backward failed or a saved tensor was modified, else what the findings about it say."""
        if node.failed or node.modified or ended(node, self._capture):
            return "error"
        return worst(self._found.get(node.id, ()))

    def of_cut(self, edge: GraphEdge) -> Gravity:
        """What is found at its ends; a cut that no finding names was meant, and is worth seeing."""
        if edge.kind != "severed" or not edge.live:
            return ""
        return worst(("info", *self._found.get(edge.source, ()), *self._found.get(edge.target, ())))


def worst(gravities: Iterable[Gravity]) -> Gravity:
    """The first of them in the order of severity; "" for none."""
    return min(gravities, key=_ORDER.index, default="")
