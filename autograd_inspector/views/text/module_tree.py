"""The graph folded by module, as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.wording import counted
from autograd_inspector.views.display_text import shown, size
from autograd_inspector.views.summaries.tree import Branch, branches
from autograd_inspector.views.summary import graph_line
from autograd_inspector.views.text.hanging import Hanging

_TONES = {"error": "red", "warning": "yellow", "": "dim"}
_LINES = 60
_NAMES = 8
_INDENT = 4


def graph_section(report: ReportData) -> Iterator[RenderableType]:
    """The graph in one line, then a line a module call, and those of the program that ran outside of modules."""
    if not report.graph.nodes:
        return
    yield Text("")
    yield Text(f"graph: {graph_line(report)}", "bold")
    roots, unrecorded = _recorded(branches(report))
    depth = next((d for d in (6, 5, 4, 3, 2) if _count(roots, d) <= _LINES), 1)
    tree = Tree("", hide_root=True, guide_style="dim")
    for branch in roots[:_LINES]:
        _grow(tree, branch, depth)
    if len(roots) > _LINES:
        tree.add(Text(f"… and {counted(len(roots) - _LINES, 'line')} more", "dim"))
    yield tree
    if unrecorded:
        yield Text(f"… and {unrecorded}", "dim")


def _recorded(roots: tuple[Branch, ...]) -> tuple[tuple[Branch, ...], str]:
    """Without lines such as those that make inputs and initialise modules, and how many these are.

    They have no node in the graph, and say nothing of where gradient flows.
    """
    kept = tuple(branch for branch in roots if _tells(branch))
    if not any(branch.nodes for branch in kept):
        return roots, ""
    left = [branch for branch in roots if not _tells(branch)]
    ops = sum(branch.total * branch.times for branch in left)
    return kept, f"{counted(len(left), 'line')} with {counted(ops, 'op')} that are not in the graph" if left else ""


def _tells(branch: Branch) -> bool:
    return bool(not branch.source or branch.nodes or branch.marks)


def _count(siblings: tuple[Branch, ...], depth: int) -> int:
    return sum(1 + len(b.marks) + (_count(b.children, depth - 1) if depth > 1 else 0) for b in siblings)


def _grow(tree: Tree, branch: Branch, depth: int) -> None:
    line = Text.assemble((shown(branch.name, 60), "bold"))
    if branch.times > 1:
        line.append(f" ×{branch.times}", "bold")
    line.append(f"  {shown(branch.type, 60)}", "cyan")
    details = [counted(branch.total, "op")]
    if branch.ops and (not branch.children or branch.total <= _NAMES):
        details = [branch.ops]
    if branch.nbytes:
        details.append(f"{size(branch.nbytes)} saved")
    if branch.times > 1:
        details.append("each")
    if branch.recomputed:
        details.append("during backward")
    line.append(f"  {' · '.join(details)}", "dim")
    grown = tree.add(Hanging(line, _INDENT))
    for what, where, tone in branch.marks:
        mark = Text.assemble((f"✂ {what}" if what.startswith("cut") else f"! {what}", _TONES[tone]))
        grown.add(Hanging(mark.append(f"  {shown(where)}", "dim")))
    if depth > 1:
        for child in branch.children:
            _grow(grown, child, depth - 1)
