"""Where a walk stopped, the records of ops stand in for autograd's nodes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from autograd_inspector.capture.recording.lineage import UNKNOWN
from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_NAME, OP_TRAITS
from autograd_inspector.capture.recording.recorded_nodes import Met, Recorded
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.autograd import LEAF_SEQUENCE, Node, Witness
from autograd_inspector.model.op import Trait

_FUNCTION = int(Trait.FUNCTION)
_LEAF = "torch::autograd::AccumulateGrad"


class StandIns:
    """Continues the nodes of a walk: one node for each op below its ends, one for each leaf.

    ``recorded``: what earlier walks met need not be told again; None where the graph is to be told by itself.
    """

    def __init__(self, recording: Recording, nodes: list[Met], recorded: Recorded | None) -> None:
        self._recording = recording
        self._nodes = nodes
        self._recorded = recorded
        self._leaves: dict[int, int] = {}
        self._ops: dict[int, int] = {}
        """Op -> the node of its result: of those that it made, the one made last."""
        best: dict[int, int] = {}
        for place, met in enumerate(nodes):
            node = recording.recorded.nodes[met] if isinstance(met, int) else met
            if node.variable >= 0:
                self._leaves[node.variable] = place
            elif node.op >= 0 and best.get(node.op, -1) < node.seq:
                best[node.op], self._ops[node.op] = node.seq, place
        self.leaves: list[int] = []
        """The leaves that no walk met."""

    def below(self, ends: Iterable[int]) -> None:
        """Nodes that the walk met and did not open get the edges that the records tell of, and so on down."""
        self._recording.lineage.update(self._recording)
        first = len(self._nodes)
        for end in ends:
            self._go_on(end, told_by="edge")
        self._open(first)

    def behind(self, origins: Iterable[int]) -> list[int]:
        """The places of nodes for some ops and leaves (``-2 - leaf``), with all that lies below them."""
        first = len(self._nodes)
        places = [self._number(origin) for origin in origins]
        self._open(first)
        return places

    def _open(self, number: int) -> None:
        while number < len(self._nodes):
            self._go_on(number, told_by="op")
            number += 1

    def _go_on(self, place: int, told_by: Witness) -> None:
        node = self._nodes[place]
        if isinstance(node, Node) and node.variable < 0:
            below = self._recording.lineage.below(node.op)
            edges = tuple([(self._number(origin), 0) for origin in below if origin != UNKNOWN])
            self._nodes[place] = replace(node, edges=edges, told_by=told_by, blind=len(edges) < len(below))

    def _number(self, origin: int) -> int:
        """The node of an op or a leaf, a new one where it has none."""
        leaf, of = (-2 - origin, self._leaves) if origin < 0 else (origin, self._ops)
        place = of.get(leaf)
        if place is None:
            place = of[leaf] = len(self._nodes)
            recorded = self._recorded_node(origin)
            node = (
                recorded if recorded is not None else self._leaf(place, leaf) if origin < 0 else self._op(place, origin)
            )
            self._nodes.append(node)
        return place

    def _recorded_node(self, origin: int) -> int | None:
        if self._recorded is None:
            return None
        return self._recorded.of_leaf(-2 - origin) if origin < 0 else self._recorded.of_op(origin)

    def _leaf(self, number: int, tensor: int) -> Node:
        self.leaves.append(tensor)
        return Node(number, _LEAF, LEAF_SEQUENCE, (), variable=tensor, told_by="op")

    def _op(self, number: int, op: int) -> Node:
        record = self._recording.ops[op]
        name, first = record[OP_NAME], record[OP_FIRST]
        if record[OP_TRAITS] & _FUNCTION:
            return Node(number, f"{name.removesuffix('.apply')}Backward", first, (), op, -1, op, told_by="op")
        return Node(number, name, first, (), op, -1, op, told_by="op")
