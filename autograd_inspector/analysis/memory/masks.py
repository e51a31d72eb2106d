"""Masks: tensors of zeros and ones, as comparisons and torch.nn.utils.prune make them."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_SAME_NUMBERS = (
    OpKind.CONVERTS
    | OpKind.COPIES
    | OpKind.VIEWS
    | OpKind.CONCATENATES
    | OpKind.STACKS
    | OpKind.MULTIPLIES
    | OpKind.DETACHES
)
"""Of masks they return a mask."""
_OF_ONE_NUMBER = OpKind.RETURNS_CONSTANT | OpKind.TAKES_SHAPE_ONLY
_OF_OTHERS = OpKind.LEAVES_UNSET | OpKind.RANDOM | OpKind.DRAWS | OpKind.REWRAPS | OpKind.SETS_NUMBER
_DEEPEST = 20
"""So many ops a mask may have gone through."""


def is_mask(analysis: Analysis, tensor: int, before: int, deepest: int = _DEEPEST) -> bool:
    """Whether an op of that index reads a tensor that holds zeros and ones: truth values, or what was made of them."""
    record = analysis.capture.tensors[tensor]
    if not record.shape or not deepest:
        return False
    if record.dtype == "bool":
        return True
    producers = analysis.flow.producers(tensor, before)
    return bool(producers) and all(_makes_mask(analysis, analysis.capture.ops[op], deepest - 1) for op in producers)


def _makes_mask(analysis: Analysis, op: Op, deepest: int) -> bool:
    if op.name == "__setitem__":
        # What it was before, and what went in, if that is a tensor: the second input tells where.
        return all(is_mask(analysis, tensor, op.index, deepest) for tensor in (*op.inputs[:1], *op.inputs[2:]))
    if is_a(op.name, OpKind.RETURNS_ZEROS):
        return True
    if is_a(op.name, _SAME_NUMBERS):
        # What is selected, or multiplied by a mask, may have other inputs that tell where.
        read = op.inputs[:1] if is_a(op.name, OpKind.SELECTS) else op.inputs
        return bool(read) and all(is_mask(analysis, tensor, op.index, deepest) for tensor in read)
    return is_a(op.name, _OF_ONE_NUMBER) and not is_a(op.name, _OF_OTHERS)


def of_its_size(analysis: Analysis, mask: int, before: int, tensor: int, storage: int) -> bool:
    """Whether a mask tells which elements of a tensor are large: it was computed from their size, there or in that storage."""
    tensors = analysis.capture.tensors

    def own(read: int) -> bool:
        return read == tensor or tensors[read].storage == storage

    sized = met = False
    for op, _ in analysis.flow.upstream([(mask, before)], ends=own):
        sized = sized or is_a(op.name, OpKind.EVEN | OpKind.NORM)
        met = met or any(own(read) for read in op.inputs)
        if sized and met:
            return True
    return False
