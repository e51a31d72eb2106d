"""Equal numbers and equal tuples of a capture are kept once: each would be another object in each of its records.

Python keeps one object of the integers up to 256 alone. An op has its index, its sequence numbers, the tensors that it
read and returned; its node and its tensors have most of these again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.model.autograd import Node

_MOST_GAPS = 4
"""Sequence numbers that lie wider apart than so many for each node are not kept once: the list would be the larger."""


class Sharing:
    """The numbers of one capture, and its tuples of numbers.

    ``numbers``: every index up to that of the last record, at its own place, and -1 as the last entry, which is what
    ``numbers[-1]`` asks for.
    """

    def __init__(self, recording: Recording, nodes: Window[Node]) -> None:
        registry = recording.registry
        length = max(len(recording.ops), len(registry.entries), len(nodes)) + 1
        self.numbers: list[int] = [*range(length), -1]
        for entry in registry.entries:
            self.numbers[entry.tensor] = entry.tensor  # The object that the tuples of ops have.
        self._tuples: dict[Any, Any] = {}
        self._sequences: list[int] = []
        found = [node.seq for node in nodes if not node.leaf and node.seq >= 0]
        self._first, last = min(found, default=0), max(found, default=-1)
        if last - self._first <= _MOST_GAPS * len(found):
            self._sequences = [*range(self._first, last + 2)]
            for sequence in found:
                self._sequences[sequence - self._first] = sequence  # The object that the nodes have.

    def number(self, number: int) -> int:
        """The one object of an index, or of any other number that may be one."""
        return self.numbers[number] if 0 <= number < len(self.numbers) - 1 else number

    def sequence(self, number: int) -> int:
        """The one object of a sequence number."""
        at = number - self._first
        return self._sequences[at] if 0 <= at < len(self._sequences) else number

    def tuple_of(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """The one object of a tuple of indices."""
        kept: tuple[int, ...] = self._tuples.setdefault(values, values)
        return kept

    def nodes(self, nodes: Iterable[Node]) -> list[Node]:
        """The records of nodes, of shared numbers and edges."""
        number, sequence, same = self.number, self.sequence, self._tuples.setdefault
        shared = []
        for node in nodes:
            edges: Any = tuple([same(edge, edge) for edge in [(number(to), slot) for to, slot in node.edges]])
            shared.append(
                Node(
                    number(node.index),
                    node.name,
                    sequence(node.seq),
                    same(edges, edges),
                    number(node.op),
                    number(node.variable),
                    number(node.position),
                    node.saved,
                    node.hooks,
                    node.failed,
                    node.told_by,
                    node.blind,
                )
            )
        return shared
