"""Custom Functions whose result is what they were given: their derivative is the gradient that comes in."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait


def passes_through(analysis: Analysis, applied: Op) -> bool:
    """Whether a Function of one tensor returned it, an alias or a copy of it, as it was."""
    tensors = analysis.capture.tensors
    if not applied.has(Trait.FUNCTION) or len(applied.inputs) != 1 or len(applied.outputs) != 1:
        return False
    given, result = applied.inputs[0], applied.outputs[0]
    one, other = tensors[given], tensors[result]
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    inside = _before(analysis, applied, result)
    if inside is None:
        return one.storage == other.storage >= 0 and not applied.writes
    return is_a(inside.name, OpKind.COPIES | OpKind.KEEPS_ORDER) and inside.inputs == (given,)


def _before(analysis: Analysis, applied: Op, result: int) -> Op | None:
    """The op of its forward that made the result."""
    for op in reversed(analysis.capture.ops[: applied.index]):
        if not op.has(Trait.INNER):
            return None
        if result in op.outputs:
            return op
    return None
