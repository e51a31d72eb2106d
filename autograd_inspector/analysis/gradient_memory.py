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
    """The op that filled a gradient with zeros and after which nothing wrote to it any more: the last such one."""
    found = [op for gradient in gradients if (op := _zeroed(analysis, gradient, start, end)) is not None]
    return max(found, key=lambda op: op.index, default=None)


def _zeroed(analysis: Analysis, gradient: int, start: int, end: int) -> Op | None:
    last, tensors = None, analysis.capture.tensors
    for op, write in writes_into(analysis, gradient, start, end):
        if not is_a(op.name, OpKind.ZEROES):
            last = None
        elif write.tensor == gradient or _covers(tensors[write.tensor], tensors[gradient]):
            last = op
    return last


def _covers(written: TensorRecord, record: TensorRecord) -> bool:
    """Whether every byte of a tensor was written: a part of it may be zeroed without clearing it."""
    dense = written.nbytes == written.extent
    return (
        dense and written.offset <= record.offset and record.offset + record.extent <= written.offset + written.extent
    )
