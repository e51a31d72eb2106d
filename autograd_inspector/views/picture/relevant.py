"""Which part of the graph a picture is about."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.graph import Graph
from autograd_inspector.views.picture.labels import ended

_APART = frozenset({"step", "gradient"})


def relevant(report: ReportData) -> set[int]:
    """What led to the last backward of each line, to the findings and to an error.

    Of a training loop that is one step; of a program that never called backward, all that ran.
    """
    graph, capture = report.graph, report.capture
    last = {run.site: run.index for run in capture.backwards if run.nested_in < 0}
    focus = {node for index in last.values() for node in graph.roots[index]}
    focus |= {node for finding in report.findings for node in _last(finding, report)}
    focus |= {node.id for node in graph.nodes if node.failed or ended(node, capture)}
    if not focus:
        return {node.id for node in graph.nodes if node.kind not in _APART}
    return _ancestors(graph, focus)


def _last(finding: Finding, report: ReportData) -> Iterable[int]:
    """The nodes of a finding's ops; of an op that a loop runs again on the same line, the last."""
    graph, ops = report.graph, report.capture.ops
    drawn = (op for op in sorted(finding.ops) if op in graph.by_op)
    return {(ops[op].site, ops[op].name): graph.by_op[op] for op in drawn}.values()


def _ancestors(graph: Graph, focus: set[int]) -> set[int]:
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        sources.setdefault(edge.target, []).append(edge.source)
    ancestors, stack = set(focus), list(focus)
    while stack:
        for source in sources.get(stack.pop(), ()):
            if source not in ancestors:
                ancestors.add(source)
                stack.append(source)
    return {number for number in ancestors if graph.nodes[number].kind not in _APART}
