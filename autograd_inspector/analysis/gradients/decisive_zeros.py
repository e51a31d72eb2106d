"""Which of several nodes that pass back zeros a leaf's gradient is zero for: one that lies on every way to it."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture


def not_decisive(capture: Capture, run: Backward, zeros: Iterable[int]) -> dict[int, frozenset[int]]:
    """Node -> the leaves that a run also comes to past it, where another of the nodes lies on every way to them."""
    reached = {node: _reached(capture, run, past=node) for node in dict.fromkeys(zeros)}
    if len(reached) < 2:
        return {}
    decided = {leaf for leaf in run.reached if any(leaf not in leaves for leaves in reached.values())}
    return {node: frozenset(leaves & decided) for node, leaves in reached.items()}


def _reached(capture: Capture, run: Backward, past: int) -> set[int]:
    """The leaves that the graph of a run leads to without one of its nodes."""
    leaves, met = set[int](), {past}
    todo = [root for root in run.graph.roots if root != past]
    while todo:
        index = todo.pop()
        if index not in met:
            met.add(index)
            node = capture.nodes[index]
            if node.variable >= 0:
                leaves.add(node.variable)
            todo += [child for child, _ in node.edges]
    return leaves
