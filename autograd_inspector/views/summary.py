"""The report in one line, and one finding in a few."""

from __future__ import annotations

from autograd_inspector.analysis.ranks_data import ReportOfRank
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.finding import SEVERITIES, Finding
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.summaries import ranks as of_ranks

NOTHING = "nothing observed"


def headline(report: ReportData) -> str:
    """``2 errors, 1 warning · 120 ops observed``, or of all ranks: ``4 ranks · 1 warning``."""
    if isinstance(report, ReportOfRank):
        return of_ranks.headline(report.ranks.placement, report.ranks.findings)
    counts = [(s, sum(f.severity == s for f in report.findings)) for s in SEVERITIES]
    severities = ", ".join(f"{n} {s}" if s == "info" else counted(n, s) for s, n in counts if n)
    if unjudged(report) == NOTHING:
        return NOTHING
    parts = [severities or ("" if unjudged(report) else "no findings"), unjudged(report), _seen(report)]
    return " · ".join(filter(None, parts))


def unjudged(report: ReportData) -> str:
    """Why no findings would not mean that all is well: "recording stopped", "nothing observed"; "" where it would."""
    capture = report.capture
    if isinstance(report, ReportOfRank):
        return ""
    if capture.stopped:
        return "recording stopped"
    looked = capture.ops or capture.backwards or capture.placement.rows or capture.steps or capture.checkpoint
    return "" if looked else NOTHING


def _seen(report: ReportData) -> str:
    """What there was to look at; where nothing was run, what existed."""
    ops, rows, capture = report.capture.observed_ops, len(report.placement.rows), report.capture
    if capture.checkpoint is not None and not ops:
        return "checkpoint inspected"
    if ops or not (rows or capture.backwards):
        return f"{counted(ops, 'op')} observed"
    nodes = len(capture.nodes)
    return f"{counted(nodes, 'autograd node')} inspected" if nodes else f"{counted(rows, 'parameter')} inspected"


def graph_line(report: ReportData) -> str:
    """How large the graph is, what it keeps, at how many places gradient is cut."""
    graph = report.graph
    cuts = len({(edge.cause, edge.site) for edge in graph.severed if edge.live})
    parts = [
        counted(sum(len(node.grad_fns) for node in graph.nodes), "autograd node"),
        f"{size(graph.saved_bytes)} saved for backward",
    ]
    if cuts:
        parts.append(f"gradient cut at {counted(cuts, 'place')}")
    if graph.truncated:
        parts.append("too deep to walk all autograd nodes: ops stand in for the rest")
    return ", ".join(parts)


def ending(report: ReportData) -> str:
    """How the program ended where it did not run through, on one line; "" where it did."""
    error = " ".join(report.capture.error.split()).rstrip(":")
    if error == KeyboardInterrupt.__name__:
        return "the program was interrupted"
    return f"the program raised {error}" if error else ""


def brief(finding: Finding) -> str:
    """What and why, the line, the fix."""
    lines = [f"{shown(finding.rule)} {shown(finding.name)} ({finding.severity})", f"  {shown(finding.message, 2000)}"]
    for location in finding.locations[:2]:
        role = f"{shown(location.role)}: " if location.role else ""
        lines.append(f"    {role}{shown(location.place)}  {shown(location.source)}")
    if finding.fix:
        first, *more = finding.fix.strip().split("\n")
        lines.append(f"  fix: {shown(first, 400)}")
        lines += [f"       {shown(line, 400)}" for line in more]
    return "\n".join(lines)
