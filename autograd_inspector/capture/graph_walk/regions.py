"""What lies inside the node of a compiled region: autograd's graph of its ops, as if they had run one by one.

The engine runs the region's one node. The walk goes on from it to the nodes inside, and from those that stand for the
region's inputs to where the gradients of the real ones go: so only what the region really connects is connected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch.autograd.function import BackwardCFunction

Edge = tuple[Any, int]
_KEY = "autograd_inspector"


@dataclass(frozen=True)
class Inside:
    """``ends``: where the results come from. ``borders``: the node that stands for an input -> where that leads."""

    ends: tuple[Edge, ...]
    borders: dict[Any, Edge]


def put_inside(region: Any, inside: Inside) -> None:
    """Keep it as long as autograd keeps the region's node."""
    region.metadata[_KEY] = inside


class Borders:
    """Follows the edges of a walk into regions and out of them."""

    def __init__(self) -> None:
        self._borders: dict[Any, Edge] = {}
        self.inner: set[Any] = set()

    def edges(self, node: Any) -> Iterator[Edge]:
        """Where a node's gradients go."""
        inside = node.metadata.get(_KEY) if isinstance(node, BackwardCFunction) else None
        if isinstance(inside, Inside):
            self._borders |= inside.borders
            edges: Any = inside.ends
        else:
            edges = node.next_functions
        if not self._borders:
            yield from edges
            return
        within = inside is not None or node in self.inner
        for child, slot in edges:
            if not within or child is None:
                yield child, slot
                continue
            border = self._borders.get(child)
            if border is not None:
                yield border
            else:
                self.inner.add(child)
                yield child, slot
