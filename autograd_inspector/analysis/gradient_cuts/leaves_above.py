"""Which leaves would get a gradient through an op, were it not cut."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import is_cut, learning
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


class Leaves:
    """Leaves above the ops of a capture, each op visited once: a set of leaves is an integer, one bit a leaf."""

    def __init__(self, capture: Capture, flow: DataFlow) -> None:
        self.capture = capture
        self.flow = flow
        self._met: list[int] = []
        self._bits: dict[int, int] = {}
        self._above: dict[tuple[int, bool], int] = {}

    def above(self, cut: Op) -> tuple[int, ...]:
        """The leaves that gradient would arrive at, in the order in which the analysis met them."""
        back = is_a(cut.name, OpKind.REWRAPS)
        tensors = self.capture.tensors
        read = [t for t in cut.inputs if back or tensors[t].requires_grad or t in cut.outputs]
        found = self._own(cut)
        for source in self._sources(cut, read, back=back):
            found |= self._leaves(source, back=back)
        return self._members(found)

    def of(self, tensor: int, before: int) -> tuple[int, ...]:
        """The leaves that gradient arrives at from a tensor, as it was before that op; the tensor itself, if it is one.

        A running sum that began as zeros (``loss = torch.zeros(()); loss += ...``) was a leaf, and is none any more.
        """
        record = self.capture.tensors[tensor]
        found = 0
        for producer in self.flow.producers(tensor, before):
            if not is_cut(self.capture, self.capture.ops[producer], tensor):
                found |= self._leaves(producer, back=False)
        if not found and record.leaf and record.requires_grad:
            return (tensor,)
        return self._members(found)

    def _leaves(self, start: int, *, back: bool) -> int:
        """The leaves above an op, its own inputs included; iterative, for a chain may be as long as the program."""
        ops, known = self.capture.ops, self._above
        todo = [start]
        while todo:
            index = todo[-1]
            if (index, back) in known:
                todo.pop()
                continue
            sources = self._sources(ops[index], ops[index].inputs, back=back)
            missing = [source for source in sources if (source, back) not in known]
            if missing:
                todo += missing
                continue
            found = self._own(ops[index])
            for source in sources:
                found |= known[source, back]
            known[index, back] = found
            todo.pop()
        return known[start, back]

    def _sources(self, op: Op, read: tuple[int, ...] | list[int], *, back: bool) -> list[int]:
        """The ops whose results it read and let gradient through."""
        ops = self.capture.ops
        return [
            producer
            for tensor in read
            for producer in self.flow.producers(tensor, op.index)
            if not is_cut(self.capture, ops[producer], tensor)
            # What came back from NumPy had to be detached on the way out: that is one cut, not two.
            or (back and is_a(ops[producer].name, OpKind.DETACHES))
        ]

    def _own(self, op: Op) -> int:
        found = 0
        for tensor in learning(self.capture, op):
            if tensor not in self._bits:
                self._bits[tensor] = 1 << len(self._met)
                self._met.append(tensor)
            found |= self._bits[tensor]
        return found

    def _members(self, leaves: int) -> tuple[int, ...]:
        """Of a thousand leaves a set may have one: only those are gone through."""
        members: list[int] = []
        while leaves:
            lowest = leaves & -leaves
            members.append(self._met[lowest.bit_length() - 1])
            leaves ^= lowest
        return tuple(members)
