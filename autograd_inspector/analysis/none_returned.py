"""Nodes that no gradient comes to, because a custom Function's backward returned None for the input that leads there."""

from __future__ import annotations

from autograd_inspector.model.autograd import Node
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graphs import RunGraphs
from autograd_inspector.model.op import Trait


def missing_edges(capture: Capture, node: Node) -> tuple[int, ...]:
    """The edges of a node for which its backward returned None the last time; of what is no custom Function none."""
    missing = capture.none_gradients_of.get(node.seq)
    custom = missing and node.op >= 0 and capture.ops[node.op].has(Trait.FUNCTION)
    return missing[-1] if missing and custom else ()


def behind_none(capture: Capture, graphs: RunGraphs) -> frozenset[int]:
    """The nodes to which every way from a root of a run leads through such an edge.

    Of a Function in several runs only the Nones are recorded: it may have returned a gradient in another run.
    """
    if not capture.none_gradients:
        return frozenset()
    nodes = capture.nodes
    met = {root for run in capture.backwards for root in run.graph.roots}
    todo = list(met)
    while todo:
        node = nodes[todo.pop()]
        missing = missing_edges(capture, node) if graphs.in_one(node.index) else ()
        new = {child for number, (child, _) in enumerate(node.edges) if number not in missing and child >= 0} - met
        met |= new
        todo += new
    return frozenset(range(len(nodes))) - met
