"""Which recorded nodes have a sequence number and a name."""

from __future__ import annotations

from collections.abc import Collection, Container

from autograd_inspector.capture.recording.window import Window
from autograd_inspector.model.autograd import Node


class NodeKeys:
    """The nodes by sequence number: each thread counts for itself, and what stands in for a node has its number.

    Nearly every number is that of one node, which is kept without a list around it: a graph may have a million.
    """

    def __init__(self, nodes: Window[Node]) -> None:
        self._nodes = nodes
        self._same: dict[int, int | list[int]] = {}

    def of(self, sequence: int, name: str) -> list[int]:
        """The nodes of that number and name, the oldest first."""
        same = self._same.get(sequence)
        if same is None:
            return []
        nodes = self._nodes
        return [number for number in ([same] if isinstance(same, int) else same) if nodes[number].name == name]

    def add(self, node: Node, stale: Container[int]) -> None:
        """One more, in place of those ``stale`` ones that it is like."""
        same = self._same.get(node.seq)
        if same is None:
            self._same[node.seq] = node.index
            return
        nodes, known = self._nodes, [same] if isinstance(same, int) else same
        left = [number for number in known if number not in stale or nodes[number].name != node.name]
        self._same[node.seq] = [*left, node.index]

    def fold(self, keep: Collection[int]) -> None:
        """Forget all nodes but those."""
        kept: dict[int, int | list[int]] = {}
        for sequence, same in self._same.items():
            if not isinstance(same, int):
                left = [number for number in same if number in keep]
                if left:
                    kept[sequence] = left
            elif same in keep:
                kept[sequence] = same
        self._same = kept
