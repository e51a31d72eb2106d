"""Which leaves a graph says get a gradient."""

from __future__ import annotations

from autograd_inspector.model.autograd import AutogradGraph
from autograd_inspector.model.graph import Graph

REENTRANT = "CheckpointFunction"
"""Autograd's node of a reentrant checkpoint."""


def below(graph: AutogradGraph) -> set[int]:
    """The leaves that autograd gives a gradient for certain: not only through a reentrant checkpoint."""
    todo, seen = list(graph.roots), set(graph.roots)
    while todo:
        node = graph.nodes[todo.pop()]
        # A reentrant checkpoint is a custom Function of its arguments, and gives none to one that it does not use.
        following = () if node.name.startswith(REENTRANT) else [child for child, _ in node.edges]
        todo += [child for child in following if child not in seen]
        seen.update(following)
    return {graph.nodes[node].variable for node in seen} - {-1}


def drawn_below(graph: Graph, stop: str) -> set[int]:
    """The leaves from which gradient edges of the merged graph lead to a root, not through nodes of that name."""
    sources: dict[int, list[int]] = {}
    for edge in graph.edges:
        if edge.kind == "gradient" and not (stop and graph.nodes[edge.target].name.startswith(stop)):
            sources.setdefault(edge.target, []).append(edge.source)
    todo = [root for roots in graph.roots for root in roots]
    seen = set(todo)
    while todo:
        unseen = [source for source in sources.get(todo.pop(), ()) if source not in seen]
        todo += unseen
        seen.update(unseen)
    return {graph.nodes[node].tensor for node in seen if graph.nodes[node].leaf}
