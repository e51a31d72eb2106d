"""Graphs whose nodes' places among all others are worked out only when a walk asks for them.

It asks for those of graphs that it may meet again. A training loop makes a new graph each step, and never does.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence


class LateGraph:
    """A graph that was recorded whole, apart from leaves, and that no other node leads to.

    ``numbers``: those of its nodes but the leaves, producers before consumers; ``depths``: how deep each lies.
    """

    def __init__(self, numbers: Sequence[int], depths: Sequence[int], roots: tuple[int, ...]) -> None:
        self.numbers, self._depths, self.roots = array("q", numbers), array("q", depths), roots
        self.spent = False
        """A run went through all of it, and freed what it had saved."""

    def nodes(self) -> Iterator[tuple[int, int]]:
        """(number, depth) of each of those nodes."""
        return zip(self.numbers, self._depths, strict=True)


class LateGraphs:
    """Those of a capture, the oldest first."""

    def __init__(self) -> None:
        self._graphs: list[LateGraph] = []

    @property
    def unspent(self) -> bool:
        """Whether what some of them saved may still be there."""
        return bool(self._graphs) and not self._graphs[-1].spent

    def add(self, graph: LateGraph) -> None:
        """One more. All before it were spent."""
        self._graphs.append(graph)

    def spend(self, roots: tuple[int, ...]) -> bool:
        """A run went through the graph below those nodes to its end; whether it is one of these."""
        if not self._graphs or self._graphs[-1].roots != roots:
            return False
        self._graphs[-1].spent = True
        return True

    def take(self) -> list[LateGraph]:
        """All of them, to be worked out now."""
        graphs, self._graphs = self._graphs, []
        return graphs

    def fold(self, keep: Collection[int]) -> bool:
        """Forget the graphs of which no node is kept; whether some other one is kept in part."""
        kept = [(graph, sum([number in keep for number in graph.numbers])) for graph in self._graphs]
        self._graphs = [graph for graph, count in kept if count]
        return any(0 < count < len(graph.numbers) for graph, count in kept)
