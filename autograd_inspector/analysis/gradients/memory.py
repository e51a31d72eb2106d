"""Writes to the memory of gradients: to the `.grad` itself, to an alias or view of it, to the buffer that it lies in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.tensor import TensorRecord


def gradients_of(analysis: Analysis, tensors: Iterable[int]) -> frozenset[int]:
    """The tensors that were seen as the ``.grad`` of those."""
    return frozenset().union(*(analysis.gradients.get(tensor, ()) for tensor in tensors))


def writes_into(analysis: Analysis, gradient: int, start: int, end: int) -> Iterator[tuple[Op, Write]]:
    """Writes that may change a gradient, in program order; those of optimizer steps are not counted."""
    tensors = analysis.capture.tensors
    record = tensors[gradient]
    for op, write in analysis.writes_to(record.storage, gradient, start, end):
        if not op.has(Trait.STEP) and (write.tensor == gradient or tensors[write.tensor].overlaps(record)):
            yield op, write


def zeroed_in_place(analysis: Analysis, gradients: Iterable[int], start: int, end: int) -> Op | None:
    """The op that filled a gradient with zeros and after which it was at most scaled: the last such one."""
    zeroing_ops = [op for gradient in gradients if (op := _zeroed(analysis, gradient, start, end)) is not None]
    return max(zeroing_ops, key=lambda op: op.index, default=None)


def scales(op: Op) -> bool:
    """Whether an op that writes into a gradient scales it, as clipping does: zeros stay zeros, an old one stays that one."""
    return is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES)


def _zeroed(analysis: Analysis, gradient: int, start: int, end: int) -> Op | None:
    tensors = analysis.capture.tensors
    made = analysis.flow.birth(gradient) if analysis.returns_zeros else None
    last = made if made is not None and start <= made.index < end and is_a(made.name, OpKind.RETURNS_ZEROS) else None
    for op, write in writes_into(analysis, gradient, start, end):
        if not _zeroes(analysis, op, write):
            last = last if scales(op) else None
        elif write.tensor == gradient or _covers(tensors[write.tensor], tensors[gradient]):
            last = op
    return last


def _zeroes(analysis: Analysis, op: Op, write: Write) -> bool:
    """Whether all that an op wrote is zero: by its kind, by the number that it was given, or by what it copied."""
    if is_a(op.name, OpKind.ZEROES):
        return True
    number_arguments = analysis.capture.given.get(op.index, {})
    if op.name == "__setitem__":
        return number_arguments.get("2") == 0 and "whole" in number_arguments
    if is_a(op.name, OpKind.MULTIPLIES) or op.name == "fill_":
        return 0.0 in number_arguments.values()
    return is_a(op.name, OpKind.COPIES_INTO) and all(
        _of_zeros(analysis, tensor, op) for tensor in op.inputs if tensor != write.tensor
    )


def _of_zeros(analysis: Analysis, tensor: int, op: Op) -> bool:
    record, made = analysis.capture.tensors[tensor], analysis.flow.birth(tensor)
    if made is None or not is_a(made.name, OpKind.RETURNS_ZEROS):
        return False
    return not any(True for _ in analysis.writes_to(record.storage, tensor, made.index + 1, op.index))


def _covers(written: TensorRecord, record: TensorRecord) -> bool:
    """Whether every byte of a tensor was written: a part of it may be zeroed without clearing it."""
    dense = written.nbytes == written.extent
    return (
        dense and written.offset <= record.offset and record.offset + record.extent <= written.offset + written.extent
    )
