"""Gradients that the program multiplies by a factor of their own size: clipping, and normalising, by hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import gradients_of, writes_into
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES


def normalised(analysis: Analysis, tensors: Iterable[int], start: int, end: int) -> Iterator[tuple[Op, int]]:
    """(op, tensor) of the ops that multiply the gradient of one of the tensors by what was computed of gradients."""
    tensors = tuple(tensors)
    gradients = gradients_of(analysis, tensors)
    found: dict[int, bool] = {}
    for tensor in tensors:
        for gradient in gradients_of(analysis, [tensor]):
            for op, write in writes_into(analysis, gradient, start, end):
                factors = [read for read in op.inputs if read not in gradients and read != write.tensor]
                if not is_a(op.name, _SCALES) or not factors:
                    continue
                if op.index not in found:
                    above = analysis.flow.upstream([(factor, op.index) for factor in factors])
                    found[op.index] = any(not gradients.isdisjoint(made.inputs) for made, _ in above)
                if found[op.index]:
                    yield op, tensor
