"""Which leaves would get a gradient through an op, were it not cut."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow, Past
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
        self._above: dict[tuple[int | Past, bool], int] = {}
        """(an op, or the past of a tensor; whether from NumPy) -> the leaves."""

    def above(self, cut: Op) -> tuple[int, ...]:
        """The leaves that gradient would arrive at, in the order in which the analysis met them."""
        back = is_a(cut.name, OpKind.REWRAPS)
        asked = self.capture.requires_grad_at
        read = [t for t in cut.inputs if back or t in cut.outputs or asked(t, cut.index)]
        leaf_bits = self._learning_bits(cut)
        for tensor in read:
            leaf_bits |= self._leaves(self.flow.past(tensor, cut.index), back=back)
        return self._members(leaf_bits)

    def of(self, tensor: int, before: int) -> tuple[int, ...]:
        """The leaves that gradient arrives at from a tensor, as it was before that op; the tensor itself, if it is one.

        A running sum that began as zeros (``loss = torch.zeros(()); loss += ...``) was a leaf, and is none any more.
        """
        record = self.capture.tensors[tensor]
        leaf_bits = self._leaves(self.flow.past(tensor, before), back=False)
        if not leaf_bits and record.leaf and self.capture.requires_grad_at(tensor, before):
            return (tensor,)
        return self._members(leaf_bits)

    def _leaves(self, start: Past, *, back: bool) -> int:
        """The leaves that a tensor's value came from; iterative, for a chain may be as long as the program."""
        ops, bits_above = self.capture.ops, self._above
        todo: list[int | Past] = [start]
        while todo:
            node = todo[-1]
            if (node, back) in bits_above:
                todo.pop()
                continue
            sources = self._sources(node, back=back)
            missing = [source for source in sources if (source, back) not in bits_above]
            if missing:
                todo += missing
                continue
            leaf_bits = self._learning_bits(ops[node]) if isinstance(node, int) else 0
            for source in sources:
                leaf_bits |= bits_above[source, back]
            bits_above[node, back] = leaf_bits
            todo.pop()
        return bits_above[start, back]

    def _sources(self, node: int | Past, *, back: bool) -> list[int | Past]:
        """Of an op the pasts of what it read; of a past the ops in it that let gradient through, and an earlier past."""
        ops = self.capture.ops
        if isinstance(node, int):
            return [self.flow.past(tensor, node) for tensor in ops[node].inputs]
        producers, earlier = self.flow.further(node)
        sources: list[int | Past] = [
            producer
            for producer in producers
            if not is_cut(self.capture, ops[producer], node.tensor)
            # What came back from NumPy had to be detached on the way out: that is one cut, not two.
            or (back and is_a(ops[producer].name, OpKind.DETACHES))
        ]
        return sources if earlier is None else [*sources, earlier]

    def _learning_bits(self, op: Op) -> int:
        leaf_bits = 0
        for tensor in learning(self.capture, op):
            if tensor not in self._bits:
                self._bits[tensor] = 1 << len(self._met)
                self._met.append(tensor)
            leaf_bits |= self._bits[tensor]
        return leaf_bits

    def _members(self, leaves: int) -> tuple[int, ...]:
        """Of a thousand leaves a set may have one: only those are gone through."""
        members: list[int] = []
        while leaves:
            lowest = leaves & -leaves
            members.append(self._met[lowest.bit_length() - 1])
            leaves ^= lowest
        return tuple(members)
