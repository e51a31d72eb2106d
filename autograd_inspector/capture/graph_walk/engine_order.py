"""The order in which the autograd engine runs the nodes of a graph (torch/csrc/autograd/engine.cpp)."""

from __future__ import annotations

import heapq
from collections.abc import Collection

from autograd_inspector.model.autograd import AutogradGraph


def execution_order(graph: AutogradGraph, inputs: Collection[int] = ()) -> list[int]:
    """Of the nodes that are ready, all of whose consumers have run, the one that was recorded last is next.

    The nodes of leaves come before all others. ``inputs``: what does not lead to one of these nodes does not run.
    """
    nodes = graph.nodes
    needed = _leading_to(graph, inputs) if inputs else None
    waiting = [0] * len(nodes)
    for node in nodes:
        for child, _ in node.edges:
            waiting[child] += 1
    ready = [(-nodes[root].seq, root) for root in dict.fromkeys(graph.roots) if not waiting[root]]
    heapq.heapify(ready)
    order = []
    while ready:
        _, number = heapq.heappop(ready)
        if needed is None or number in needed:
            order.append(number)
        for child, _ in nodes[number].edges:
            waiting[child] -= 1
            if not waiting[child]:
                heapq.heappush(ready, (-nodes[child].seq, child))
    return order


def _leading_to(graph: AutogradGraph, inputs: Collection[int]) -> set[int]:
    consumers: dict[int, list[int]] = {}
    for node in graph.nodes:
        for child, _ in node.edges:
            consumers.setdefault(child, []).append(node.index)
    todo, leading = list(inputs), set[int]()
    while todo:
        for above in consumers.get(todo.pop(), ()):
            if above not in leading:
                leading.add(above)
                todo.append(above)
    return leading
