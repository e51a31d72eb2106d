"""What is computed of the same values as what a cut lets through: two operands of one expression, one of them without history.

``x - x.mean().detach()`` computes both of ``x``; a target that another forward made shares parameters with a prediction,
and no value.
"""

from __future__ import annotations

from functools import cached_property

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, is_cut, is_origin
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_SUMS = OpKind.ADDS | OpKind.SUBTRACTS
_KEEPS_TERMS = _SUMS | OpKind.DETACHES | OpKind.CONVERTS


class SharedOrigin:
    """The tensors with a history in which a value takes part that the cut value was computed from as well."""

    def __init__(self, capture: Capture, flow: DataFlow, cut: GradientCut, end: int) -> None:
        self._capture = capture
        self._flow = flow
        self._cut = cut
        self._end = end

    def has(self, tensor: int) -> bool:
        """Whether it is one of them."""
        return tensor in self._met

    @cached_property
    def _met(self) -> frozenset[int]:
        return self._downstream(self._upstream())

    def estimates(self, op: Op, tensor: int, taken: int) -> bool:
        """Whether an op only exchanges the value of a tensor (``x + (q - x).detach()``), or takes it away from itself.

        ``taken``: the other operand, of which that tensor without its history is one term.
        """
        return is_a(op.name, _SUMS) and tensor in self._terms(taken)

    def _terms(self, tensor: int) -> set[int]:
        """What a tensor is the sum of, with or without history."""
        terms = {tensor}
        todo = [tensor]
        while todo:
            made = self._flow.birth(todo.pop())
            if made is not None and is_a(made.name, _KEEPS_TERMS):
                todo += [read for read in made.inputs if read not in terms]
                terms.update(made.inputs)
        return terms

    def _upstream(self) -> set[int]:
        """The ops whose results gradient would have come back to through the cut."""
        # What came back from NumPy had to be detached on the way out: that is one cut, not two.
        back = any(is_a(op.name, OpKind.REWRAPS) for op in self._cut.ops)

        def through(op: Op, tensor: int) -> bool:
            return not is_cut(self._capture, op, tensor) or (back and is_a(op.name, OpKind.DETACHES))

        starts = [(tensor, op.index) for op in self._cut.ops for tensor in op.inputs]
        above = self._flow.upstream(starts, through, lambda tensor: is_origin(self._capture, tensor))
        return {op.index for op, _ in above if _records(op)}

    def _downstream(self, above: set[int]) -> frozenset[int]:
        tensors = self._capture.tensors
        met: set[int] = set()
        for at in range(min(above), self._end) if above else ():
            op = self._capture.ops[at]
            if at in above or (_records(op) and not met.isdisjoint(op.inputs)):
                met.update(t for t in op.outputs if tensors[t].requires_grad)
                met.update(write.tensor for write in op.writes if tensors[write.tensor].requires_grad)
        return frozenset(met)


def _records(op: Op) -> bool:
    return op.last_seq > op.first_seq and not op.has(Trait.BACKWARD | Trait.STEP)
