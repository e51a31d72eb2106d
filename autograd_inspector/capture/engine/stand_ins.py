"""Where a walk stopped, the records of ops stand in for autograd's nodes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from autograd_inspector.capture.engine.lineage import UNKNOWN
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.autograd import Node
from autograd_inspector.model.op import Trait

LEAF_SEQUENCE = 2**64 - 1
_FUNCTION = int(Trait.FUNCTION)
_LEAF = "torch::autograd::AccumulateGrad"
_NOTHING_KNOWN = (UNKNOWN,)


class StandIns:
    """Continues the nodes of a walk: one node for each op below its ends, one for each leaf."""

    def __init__(self, tape: Tape, nodes: list[Node]) -> None:
        self._tape = tape
        self._nodes = nodes
        self._leaves = {node.variable: node.index for node in nodes if node.variable >= 0}
        self._ops: dict[int, int] = {}
        """Op -> the node of its result: of those that it made, the one made last."""
        for node in nodes:
            if node.op >= 0 and (node.op not in self._ops or nodes[self._ops[node.op]].seq < node.seq):
                self._ops[node.op] = node.index
        self.leaves: list[int] = []
        """The leaves that no walk met."""

    def below(self, ends: Iterable[int]) -> None:
        """Nodes that the walk met and did not open get the edges that the records tell of, and so on down."""
        tape, nodes = self._tape, self._nodes
        tape.lineage.update(tape)
        known, number = tape.lineage.below, len(nodes)
        for end in ends:
            edges, blind = self._edges(known.get(nodes[end].op, _NOTHING_KNOWN))
            nodes[end] = replace(nodes[end], edges=edges, told_by="edge", blind=blind)
        while number < len(nodes):
            node = nodes[number]
            if node.variable < 0:
                edges, blind = self._edges(known.get(node.op, _NOTHING_KNOWN))
                nodes[number] = replace(node, edges=edges, blind=blind)
            number += 1

    def _edges(self, below: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], bool]:
        edges = tuple([(self._number(found), 0) for found in below if found != UNKNOWN])
        return edges, len(edges) < len(below)

    def _number(self, found: int) -> int:
        """The node of an op or a leaf, a new one where it has none."""
        leaf, of = (-2 - found, self._leaves) if found < 0 else (found, self._ops)
        number = of.get(leaf)
        if number is None:
            number = of[leaf] = len(self._nodes)
            self._nodes.append(self._leaf(number, leaf) if found < 0 else self._op(number, found))
        return number

    def _leaf(self, number: int, tensor: int) -> Node:
        self.leaves.append(tensor)
        return Node(number, _LEAF, LEAF_SEQUENCE, (), variable=tensor, told_by="op")

    def _op(self, number: int, op: int) -> Node:
        record = self._tape.ops[op]
        name, first = record[0], record[9]
        if record[8] & _FUNCTION:
            return Node(number, f"{name.removesuffix('.apply')}Backward", first, (), op, -1, op, told_by="op")
        return Node(number, name, first, (), op, -1, op, told_by="op")
