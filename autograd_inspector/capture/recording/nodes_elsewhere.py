"""Nodes that the engine made in a thread of its own, as it does for the devices that it has threads for.

Each thread counts its nodes for itself, so the numbers of these say nothing of the ops. What such a run returned is
known: the nodes below it are its own, but for those of the graph that it went through.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from torch import Tensor

from autograd_inspector.capture.tensors.attributes import device_of, node_of

_IN_CALLERS_THREAD = frozenset({"cpu", "meta"})
"""What the engine computes for these it computes in the thread that called it."""
_MOST = 4096
"""Of so many results the nodes are remembered: the graphs of older ones are gone."""


class Elsewhere(NamedTuple):
    """The result of a run: its tensor, and the op that stands for the run, -1: none does.

    From op ``start`` to op ``end`` the run went on.
    """

    tensor: int
    op: int
    start: int
    end: int


class NodesElsewhere:
    """What runs returned whose nodes another thread made, by the number and the name of the node."""

    def __init__(self) -> None:
        self._results: dict[tuple[int, str], Elsewhere] = {}

    def __bool__(self) -> bool:
        return bool(self._results)

    def add(self, results: Iterable[tuple[int, Tensor]], op: int, start: int, end: int) -> None:
        """A run is over that made no node in its caller's thread, and returned these: (number, tensor)."""
        for number, tensor in results:
            node = node_of(tensor) if device_of(tensor).type not in _IN_CALLERS_THREAD else None
            if node is not None:
                self._results[node._sequence_nr(), node.name()] = Elsewhere(number, op, start, end)
        for key in [*islice(self._results, max(0, len(self._results) - _MOST))]:
            del self._results[key]

    def of(self, node: Any, sequence: int, read: tuple[int, ...] | None) -> Elsewhere | None:
        """The result that a node is that of; ``read``: what the op read that it leads to."""
        result = self._results.get((sequence, node.name()))
        return result if result is not None and (read is None or result.tensor in read) else None
