"""The graph that each run of the engine finds, walked in full beside what is recorded of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from autograd_inspector.capture.graph_walk.walk import Walk
from autograd_inspector.model.autograd import AutogradGraph, GraphHead
from autograd_inspector.model.graphs import graph_below


class FullWalks:
    """``graphs``: of each walk what one finds that knows of none before. ``stops``: at how many nodes it stopped."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.graphs: list[AutogradGraph] = []
        self.stops: list[int] = []
        self._record = Walk.record
        patch.setattr(Walk, "record", lambda walk, roots: self._both(walk, list(roots)))

    def _both(self, walk: Walk, roots: Iterable[Any]) -> GraphHead:
        recording = walk.recording
        full = Walk(recording)
        reference = full.graph(roots)
        head = self._record(walk, roots)
        recorded = graph_below(recording.recorded.nodes, head)
        assert same(recorded, reference)
        assert {*walk.leaves, *recording.recorded.leaves.of(walk.stopped)} == set(full.leaves)
        self.graphs.append(reference)
        self.stops.append(len(walk.stopped))
        return head


def same(graph: AutogradGraph, other: AutogradGraph) -> bool:
    """Whether all that is said of two graphs is the same, as far as both walks could tell."""
    return len(graph.nodes) == len(other.nodes) and bool(_plain(graph, other) == _plain(other, graph))


def _plain(graph: AutogradGraph, other: AutogradGraph) -> Any:
    """Without what becomes known of a tensor once a walk has met it: the second of two walks knows more."""
    unknown = {
        (node.index, number)
        for each in (graph, other)
        for node in each.nodes
        for number, saved in enumerate(node.saved)
        if saved.tensor < 0
    }
    return replace(
        graph,
        nodes=tuple(
            replace(
                node,
                saved=tuple(
                    replace(saved, tensor=-1, saved_version=None) if (node.index, number) in unknown else saved
                    for number, saved in enumerate(node.saved)
                ),
            )
            for node in graph.nodes
        ),
    )
