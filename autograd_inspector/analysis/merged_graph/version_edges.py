"""Saver -> modifier: what a node had saved was modified there, from one version to the next."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.merged_graph.joined import homes
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Graph, GraphNode, VersionEdge
from autograd_inspector.model.op import Write

_MOST = 4
"""More who modified one saved tensor than these are not drawn."""

_Writes = dict[int, list[tuple[int, Write]]]


def version_edges(capture: Capture, graph: Graph) -> tuple[VersionEdge, ...]:
    """From each node that holds a modified tensor to those that moved its version counter.

    A view and its base share the counter: whichever of them was saved, a write to the other is one to it.
    """
    savers = [node for node in graph.nodes if node.modified]
    if not savers:
        return ()
    writes = _writes(capture, graph)
    return tuple(dict.fromkeys(edge for saver in savers for edge in _from(saver, capture, writes)))


def _from(saver: GraphNode, capture: Capture, writes: _Writes) -> Iterator[VersionEdge]:
    for saved in saver.modified:
        # Of its own result a node saves no tensor that the program has.
        tensor = saved.tensor if saved.tensor >= 0 else saver.tensor
        counter = capture.tensors[tensor].counter if tensor >= 0 else saved.storage
        version = saved.saved_version
        later = [(node, write) for node, write in writes.get(counter, ()) if version is None or write.after > version]
        spans: dict[int, tuple[int, int]] = {}
        for node, write in later:
            before, after = spans.get(node, (write.before, write.after))
            spans[node] = min(before, write.before), max(after, write.after)
        spans.pop(saver.id, None)
        for node in list(spans)[:_MOST]:
            yield VersionEdge(saver.id, node, *spans[node])


def _writes(capture: Capture, graph: Graph) -> _Writes:
    """Counter -> who moved it. A write within a custom Function is the Function's."""
    writes: _Writes = {}
    home, by_op = homes(capture), graph.by_op
    for op in capture.ops:
        node = by_op.get(home[op.index], -1) if op.writes else -1
        for write in op.writes:
            counter = capture.tensors[write.tensor].counter
            if node >= 0 and counter >= 0 and write.after > write.before:
                writes.setdefault(counter, []).append((node, write))
    return writes
