"""What lies inside the node of a compiled region: autograd's graph of its ops, as if they had run one by one.

The engine runs the region's one node. The walk goes on from it to the nodes inside, and from those that stand for the
region's inputs to where the gradients of the real ones go: so only what the region really connects is connected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.recording.compiled_regions import inside_of

Edge = tuple[Any, int]


@dataclass(frozen=True)
class Inside:
    """``ends``: (which of the region's results, where it comes from); -1 for one that is only a view of a result.

    ``borders``: the node that stands for an input -> where that leads.
    """

    ends: tuple[tuple[int, Edge], ...]
    borders: dict[Any, Edge]


class Borders:
    """Follows the edges of a walk into regions and out of them."""

    def __init__(self) -> None:
        self._borders: dict[Any, Edge] = {}
        self._used: dict[Any, set[int]] = {}
        """Region's node -> which of its results are led to. It is opened after all that leads to it."""
        self.inner: set[Any] = set()
        self.possible = False
        """Whether a node was met that may be a region's. Until then ``next_functions`` tell all edges."""

    def begin_at(self, roots: Iterable[Edge]) -> None:
        """A walk begins at those nodes, each by one of its results."""
        for root, slot in roots:
            self._used.setdefault(root, set()).add(slot)
            self.possible = self.possible or isinstance(root, BackwardCFunction)

    def led(self, node: Any, slot: int) -> None:
        """An edge leads to a node that may be a region's."""
        self.possible = True
        self._used.setdefault(node, set()).add(slot)

    def edges(self, node: Any) -> Iterable[Edge]:
        """Where a node's gradients go."""
        if self.inner or isinstance(node, BackwardCFunction):
            inside = inside_of(node)
            if inside is not None or node in self.inner:
                return list(self._within(node, inside))
        following: tuple[Edge, ...] = node.next_functions
        for child, slot in following:
            if isinstance(child, BackwardCFunction):
                self._used.setdefault(child, set()).add(slot)
        return following

    def _within(self, node: Any, inside: Any) -> Iterator[Edge]:
        """Those of a region's node, or of a node inside one."""
        edges: Any = node.next_functions
        if isinstance(inside, Inside):
            self._borders |= inside.borders
            used = self._used.get(node, set())
            edges = [edge for slot, edge in inside.ends if not used or slot < 0 or slot in used]
        for child, slot in edges:
            if isinstance(child, BackwardCFunction):
                self._used.setdefault(child, set()).add(slot)
            border = None if child is None else self._borders.get(child)
            if border is not None:
                self._used.setdefault(border[0], set()).add(border[1])
                yield border
            else:
                if child is not None:
                    self.inner.add(child)
                yield child, slot
