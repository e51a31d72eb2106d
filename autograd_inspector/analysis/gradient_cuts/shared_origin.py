"""What is computed of the same values as what a cut lets through: two operands of one expression, one of them without history.

``x.detach() - x.mean()`` computes both of ``x``; a target that another forward made shares parameters with a prediction,
and no value. Nor is told of what a value is scaled, shifted or exchanged by, if that was computed of the value itself:
a maximum, a norm, the difference of a straight-through estimator.
"""

from __future__ import annotations

from functools import cached_property

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut, is_cut, is_origin
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait


class SharedOrigin:
    """The tensors with a history in which a value takes part that the cut value was computed from as well."""

    def __init__(self, capture: Capture, flow: DataFlow, cut: GradientCut, end: int) -> None:
        self._capture = capture
        self._flow = flow
        self._cut = cut
        self._end = end

    def has(self, tensor: int) -> bool:
        """Whether it is one of them, and not what the cut value was computed from."""
        return tensor in self._met and tensor not in self._sources

    @cached_property
    def _met(self) -> frozenset[int]:
        return self._downstream(self._above)

    @cached_property
    def _sources(self) -> frozenset[int]:
        read = (tensor for index in self._above for tensor in self._capture.ops[index].inputs)
        return frozenset(read).union(*(op.inputs for op in self._cut.ops))

    @cached_property
    def _above(self) -> set[int]:
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
    return op.recorded and not op.has(Trait.BACKWARD | Trait.STEP)
