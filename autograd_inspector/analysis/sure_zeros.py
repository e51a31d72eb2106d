"""Tensors that are zero whatever else was computed: made as zeros, and since then only scaled and added to each other."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture

_DEEPEST = 24
_SAME = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.NEGATES | OpKind.DETACHES
_OF_ALL = OpKind.ADDS | OpKind.SUBTRACTS | OpKind.STACKS | OpKind.CONCATENATES


def surely_zero(capture: Capture, flow: DataFlow, tensor: int, before: int, depth: int = 0) -> bool:
    """Whether a tensor, as op ``before`` would read it, is zero by the ops that made it; numbers beside it are finite."""
    producers = flow.producers(tensor, before) if depth < _DEEPEST else []
    if len(producers) != 1:
        return False
    op = capture.ops[producers[0]]
    if is_a(op.name, OpKind.RETURNS_ZEROS) or (is_a(op.name, OpKind.ZEROES) and tensor in op.outputs):
        return not _accumulated(capture, tensor, op.index, before)

    def zero(read: int) -> bool:
        return surely_zero(capture, flow, read, op.index, depth + 1)

    if is_a(op.name, OpKind.MULTIPLIES):
        return any(map(zero, op.inputs))
    if is_a(op.name, _SAME | OpKind.DIVIDES):
        return bool(op.inputs) and zero(op.inputs[0])
    # A number that is added is no tensor, and not seen: only sums of tensors are sure.
    return is_a(op.name, _OF_ALL) and len(op.inputs) > 1 and all(map(zero, op.inputs))


def _accumulated(capture: Capture, tensor: int, since: int, before: int) -> bool:
    """Whether a backward has added to the memory meanwhile: it is, or is a part of, the gradients of some leaves."""
    storage = capture.tensors[tensor].storage
    leaves = {
        write.tensor
        for write in capture.grad_writes
        if write.gradient >= 0 and capture.tensors[write.gradient].storage == storage
    }
    runs = (run for run in capture.backwards if leaves and since < run.end <= before)
    return any(not leaves.isdisjoint(run.reached) for run in runs)
