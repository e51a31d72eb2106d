"""Writes to the memory of gradients: to the `.grad` itself, to a `.data` or view of it, to the buffer it is a part of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.model.op import Op, Trait, Write
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.model.torch_names import ZERO_EACH
from autograd_inspector.rules.facts import Facts

_ZEROING = {"zero_", ZERO_EACH}


def gradients_of(facts: Facts, tensors: Iterable[int]) -> frozenset[int]:
    """The tensors that were seen as the ``.grad`` of those."""
    return frozenset().union(*(facts.gradients.get(tensor, ()) for tensor in tensors))


def writes_into(facts: Facts, gradient: int, start: int, end: int) -> Iterator[tuple[Op, Write]]:
    """Writes that may change a gradient, in program order; those of optimizer steps are not counted."""
    tensors = facts.capture.tensors
    record = tensors[gradient]
    for op, write in facts.writes_to(record.storage, gradient, start, end):
        if not op.has(Trait.STEP) and (write.tensor == gradient or tensors[write.tensor].overlaps(record)):
            yield op, write


def zeroed_in_place(facts: Facts, gradients: Iterable[int], start: int, end: int) -> Op | None:
    """The op that filled a gradient with zeros and after which nothing wrote to it any more: the last such one."""
    found = [op for gradient in gradients if (op := _zeroed(facts, gradient, start, end)) is not None]
    return max(found, key=lambda op: op.index, default=None)


def _zeroed(facts: Facts, gradient: int, start: int, end: int) -> Op | None:
    last, tensors = None, facts.capture.tensors
    for op, write in writes_into(facts, gradient, start, end):
        if op.name not in _ZEROING:
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
