"""Which op read what which op wrote: the edges of the graph, from the op records."""

from __future__ import annotations

from autograd_inspector.analysis.merged_graph.drawn_cuts import cause_and_site, returned, severs
from autograd_inspector.analysis.merged_graph.joined import Joined
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.graph import Cause, EdgeKind
from autograd_inspector.model.op import Op, Trait, Write

Edge = tuple[EdgeKind, int, Cause, int]
"""(kind, tensor, cause, site)"""

_CUT, _FUNCTION, _STEP = int(Trait.CUT), int(Trait.FUNCTION), int(Trait.STEP)
_BOUND = ("parameter", "buffer")


class Flow:
    """Follows every tensor from the node that produced it to the nodes that read it.

    ``nodes`` has an op index per node, or ``-1 - tensor`` for a leaf. A tensor is produced by the op that
    returned or last modified it; a parameter stays itself, whatever initialises or steps it.
    """

    def __init__(self, capture: Capture, joined: Joined) -> None:
        self.capture = capture
        self.joined = joined
        self.nodes: list[int] = []
        self.edges: dict[tuple[int, int], Edge] = {}
        self.node_of_op: dict[int, int] = {}
        self.folded: dict[int, int] = {}
        tensors = capture.tensors
        self.tracked = bytearray([t.requires_grad and t.birth < 0 for t in tensors])
        self._fixed = bytearray([t.kind in _BOUND for t in tensors])
        self._requires = bytearray([t.requires_grad for t in tensors])
        self._storage = [t.storage for t in tensors]
        self._producer: list[int] = [-1] * len(tensors)
        self._writer: dict[int, int] = {}
        self._inner: list[Op] = []
        self._returned = returned(capture)
        self._changes = sorted(capture.requires_grad_changes, key=lambda change: change.at, reverse=True)

    def run(self) -> None:
        """Read the recording from start to end."""
        home, changes = self.joined.home, self._changes
        for index, op in enumerate(self.capture.ops):
            while changes and changes[-1].at <= index:
                change = changes.pop()
                self.tracked[change.tensor] = change.requires_grad
            if home[index] != index:
                self._inner.append(op)
            elif op.first_seq != op.last_seq or not _passes_through(op):
                self._op(index, op)
        for change in reversed(changes):
            self.tracked[change.tensor] = change.requires_grad

    def leaf(self, tensor: int) -> int:
        """The node that produced a tensor so far: a leaf of its own where none did."""
        node = self._producer[tensor]
        if node < 0:
            node = self._producer[tensor] = len(self.nodes)
            self.nodes.append(-1 - tensor)
        return node

    def connect(self, source: int, target: int) -> None:
        """Gradient flows from target back to source: autograd says so."""
        if source != target:
            edge = self.edges.get((source, target))
            if edge is None or edge[0] != "gradient":
                self.edges[source, target] = ("gradient", -1 if edge is None else edge[1], "", -1)

    def _op(self, index: int, op: Op) -> None:
        traits, outputs = op.traits, op.outputs
        if traits & _STEP:
            self._step(index, op)
            return
        tracked, producer, requires = self.tracked, self._producer, self._requires
        alive = False
        sources = []
        for tensor in op.inputs:
            source = producer[tensor]
            sources.append(source if source >= 0 else self.leaf(tensor))
            if tracked[tensor]:
                alive = True
        node = self._node(index)
        function = bool(traits & _FUNCTION)
        # Written under no_grad: the values change, the history of what was written stays as it was.
        unrecorded = bool(op.writes) and op.first_seq == op.last_seq >= 0
        carries = alive and not traits & _CUT and not unrecorded
        if carries and not function and not op.writes:
            carries = any(map(requires.__getitem__, outputs))
        if traits & _CUT and severs(op, self.capture, self._returned):
            self._sever(op, sources, node)
        else:
            self._read(op, sources, node, inferred=carries and not self._walked(index))
        if self._inner:
            self._absorb(node)
        for tensor in outputs:
            if not self._fixed[tensor] and not (unrecorded and tracked[tensor]):
                producer[tensor] = node
            tracked[tensor] = not traits & _CUT and (requires[tensor] or (carries and function))
        if op.writes:
            self._write(op, node, carries=carries, unrecorded=unrecorded)

    def _node(self, index: int) -> int:
        node = self.node_of_op[index] = len(self.nodes)
        self.nodes.append(index)
        return node

    def _step(self, index: int, op: Op) -> None:
        """An optimizer step only ends edges: what it writes stays a parameter, so no step feeds the next."""
        parameters = [self.leaf(write.tensor) for write in op.writes]
        node = self._node(index)
        for write, source in zip(op.writes, parameters, strict=True):
            self.edges[source, node] = ("data", write.tensor, "", -1)

    def _write(self, op: Op, node: int, *, carries: bool, unrecorded: bool) -> None:
        for write in op.writes:
            if not self._fixed[write.tensor]:
                self._writer[write.storage] = node
                if (unrecorded and self.tracked[write.tensor]) or _aside(op, write):
                    continue
                if write.before != write.after or op.traits & _CUT:
                    self._producer[write.tensor] = node
            if carries:
                self.tracked[write.tensor] = True

    def _sever(self, op: Op, sources: list[int], node: int) -> None:
        cause, site = cause_and_site(op, self.capture)
        for tensor, source in zip(op.inputs, sources, strict=False):
            if self.tracked[tensor]:
                self.edges[source, node] = ("severed", tensor, cause, site)
            else:
                self.edges.setdefault((source, node), ("data", tensor, "", -1))

    def _read(self, op: Op, sources: list[int], node: int, *, inferred: bool) -> None:
        edges, nodes, writers = self.edges, self.nodes, self._writer
        for tensor, source in zip(op.inputs, sources, strict=False):
            if inferred and self.tracked[tensor]:
                edges[source, node] = ("gradient", tensor, "", -1)
            elif (source, node) not in edges:
                edges[source, node] = ("data", tensor, "", -1)
            if writers:
                writer = writers.get(self._storage[tensor], -1)
                if writer > source and writer != node and nodes[source] >= 0:
                    edges.setdefault((writer, node), ("data", tensor, "", -1))

    def _absorb(self, node: int) -> None:
        """The ops of a custom Function's forward: what they read from outside, and what they made."""
        for op in self._inner:
            for tensor in op.inputs:
                if self._producer[tensor] >= 0 or self.capture.tensors[tensor].birth < 0:
                    source = self.leaf(tensor)
                    if source != node:
                        self.edges.setdefault((source, node), ("data", tensor, "", -1))
            if _passes_through(op):
                continue
            for tensor in op.outputs:
                if not self._fixed[tensor]:
                    self._producer[tensor] = node
        self.folded[node] = len(self._inner)
        self._inner.clear()

    def _walked(self, index: int) -> bool:
        """Whether the edges of a walk tell all about this op."""
        return index in self.joined.made and index not in self.joined.blind


def _aside(op: Op, write: Write) -> bool:
    """An operand that shares memory with what the op modified (``w.detach().add_(w)``) keeps its own history."""
    modified = (*op.outputs, *op.inputs[:1])
    if len(op.writes) == 1 or write.tensor in modified:
        return False
    return any(other.storage == write.storage and other.tensor in modified for other in op.writes if other is not write)


def _passes_through(op: Op) -> bool:
    """It handed its input on: ``contiguous()`` of a contiguous tensor, ``to()`` where it already is."""
    return (
        op.outputs != ()
        and op.first_seq == op.last_seq
        and not op.writes
        and not op.traits & (_CUT | _FUNCTION)
        and all(t in op.inputs for t in op.outputs)
    )
