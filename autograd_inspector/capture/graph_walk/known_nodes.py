"""Where a walk may stop: at a node that an earlier walk recorded, and that is still as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from autograd_inspector.capture.recording.recorded_nodes import Recorded, alike
from autograd_inspector.model.autograd import LEAF_SEQUENCE, Node

_LOOKED_AT = 8
"""So many nodes that save nothing are looked at, to find one that tells two graphs apart."""


class Known:
    """Finds the record of a node by what it says of itself.

    Neither its wrapper in Python lives as long as it does, nor is its sequence number its own: each thread counts for
    itself. So its inputs and what it saved must be those of the record, too. Of a node that saves nothing those of the
    nodes below it: loops in two threads may make nodes of the same numbers.
    """

    def __init__(self, recorded: Recorded, describe: Callable[[Any], Node], id_of: Callable[[Tensor], int]) -> None:
        self._describe, self._id_of = describe, id_of
        self._recorded = recorded
        self._taken: set[int] = set()
        self._left = 0

    def number(self, node: Any, sequence: int, depth: int) -> int | None:
        """The number of the node, None where it is new or may have changed."""
        for number in self._recorded.candidates(sequence, node.name(), depth):
            if number not in self._taken:
                self._left = _LOOKED_AT
                if self._same(node, self._recorded.nodes[number]):
                    self._taken.add(number)
                    return number
        return None

    def _same(self, node: Any, record: Node) -> bool:
        self._left -= 1
        if record.told_by == "op" or not alike(self._describe(node), record, opened=False):
            return False
        return record.told_by == "edge" or self._leads_on(node, record)

    def _leads_on(self, node: Any, record: Node) -> bool:
        """Whether the inputs are those of the record; one that was not opened is not asked for them."""
        following = [(child, slot) for child, slot in node.next_functions if child is not None]
        if [slot for _, slot in following] != [slot for _, slot in record.edges]:
            return False
        for (child, _), (number, _) in zip(following, record.edges, strict=True):
            below = self._recorded.nodes[number]
            if not self._called(child, below):
                return False
            if not record.saved and not below.leaf and self._left > 0 and not self._same(child, below):
                return False
        return True

    def _called(self, node: Any, record: Node) -> bool:
        sequence = node._sequence_nr()
        if sequence != record.seq or node.name() != record.name:
            return False
        if sequence != LEAF_SEQUENCE:
            return True
        leaf = getattr(node, "variable", None)
        return isinstance(leaf, Tensor) and self._id_of(leaf) == record.variable
