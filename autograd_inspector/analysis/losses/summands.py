"""What a loss is a sum of: the losses that were added up, however the sum was scaled in between."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_SUMS = OpKind.ADDS | OpKind.STACKS | OpKind.CONCATENATES | OpKind.REDUCES
_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.VIEWS

Value = tuple[int, int]
"""A tensor, and the op that gave it the value: a sum that is added to in place has many."""


def summands_of(analysis: Analysis, tensor: int, before: int) -> frozenset[Value]:
    """The single losses in the value that a tensor had before an op; the value itself where it is no sum.

    Only those that a gradient goes back to: a sum may begin with a constant 0.
    """
    flow, ops = analysis.flow, analysis.capture.ops
    found: set[Value] = set()
    todo, seen = [(tensor, before)], set()
    while todo:
        value, at = todo.pop()
        producers = [index for index in flow.producers(value, at)[:1] if ops[index].recorded]
        for index in producers:
            if (value, index) in seen:
                continue
            seen.add((value, index))
            operands = _added(analysis, ops[index])
            todo += [(operand, index) for operand in operands]
            if not operands:
                found.add((value, index))
    return frozenset(found)


def _added(analysis: Analysis, op: Op) -> list[int]:
    """The operands of a sum, or the one that is scaled; nothing where the op computes something of its own."""
    tensors = analysis.capture.tensors
    differentiable = [t for t in dict.fromkeys(op.inputs) if tensors[t].requires_grad or _written(op, t)]
    if is_a(op.name, OpKind.REDUCES):
        # A mean over a batch is a loss of its own; one over losses that were put together is their sum.
        return differentiable if len(op.inputs) == 1 and _gathers(analysis, op) else []
    if is_a(op.name, _SUMS):
        return differentiable
    return differentiable if is_a(op.name, _SCALES) and len(differentiable) == 1 else []


def _written(op: Op, tensor: int) -> bool:
    return any(write.tensor == tensor for write in op.writes)


def _gathers(analysis: Analysis, op: Op) -> bool:
    ops, flow = analysis.capture.ops, analysis.flow
    made = flow.producers(op.inputs[0], op.index)[:1]
    return any(is_a(ops[index].name, OpKind.STACKS | OpKind.CONCATENATES) for index in made)
