"""Entries of a tensor that are taken without a copy, and overwritten before anybody reads what they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import calls_of
from autograd_inspector.model.op import Op, Trait, Write

_ASIDE = Trait.STEP | Trait.BACKWARD
_ASSIGNS = "__setitem__"


class OverwrittenSlot(Struct, frozen=True):
    """``taken`` took an entry of ``pool`` as a view, ``overwritten`` gave the entry another value, ``read`` met that.

    ``stored`` had put the earlier value there, which nothing has read.
    """

    pool: int
    stored: Op
    taken: Op
    overwritten: Op
    read: Op


def overwritten_slots(analysis: Analysis) -> Iterator[OverwrittenSlot]:
    """One for each line that takes them.

    Who takes an entry in order to fill it begins with memory that holds nothing yet, or comes back to values that were
    read.
    """
    told: set[object] = set()
    for op in calls_of(analysis.capture, "__getitem__"):
        if len(op.outputs) != 1 or not op.inputs or op.has(_ASIDE):
            continue
        line = line_of(analysis, op.site)
        found = _overwritten(analysis, op) if line not in told else None
        if found is not None:
            told.add(line)
            yield found


def _overwritten(analysis: Analysis, taken: Op) -> OverwrittenSlot | None:
    capture = analysis.capture
    pool, view = taken.inputs[0], capture.tensors[taken.outputs[0]]
    reads = capture.readers.get(view.id, ())
    if not reads or view.storage != capture.tensors[pool].storage or view.looked_at or view.shape == ():
        return None
    read = capture.ops[reads[0]]
    if read.has(_ASIDE) or any(write.storage == view.storage for write in read.writes):
        return None
    slot = view.offset, view.extent
    later = next(
        _assignments(analysis, pool, slot, analysis.writes_in(view.storage, taken.index + 1, read.index)), None
    )
    if later is None:
        return None
    earlier = next(_assignments(analysis, pool, slot, analysis.writes_back(view.storage, 0, taken.index)), None)
    if earlier is None or _is_read(analysis, pool, slot, earlier.index + 1, taken.index):
        return None
    return OverwrittenSlot(pool, earlier, taken, later, read)


def _assignments(
    analysis: Analysis, pool: int, slot: tuple[int, int], writes: Iterable[tuple[Op, Write]]
) -> Iterator[Op]:
    """The ops that assigned a tensor to exactly that part of the pool."""
    for op, _ in writes:
        if op.name == _ASSIGNS and op.inputs[0] == pool and len(op.inputs) > 1 and _slot(analysis, op) == slot:
            yield op


def _slot(analysis: Analysis, op: Op) -> tuple[int, int] | None:
    """(offset, extent) of the entry that an assignment with an integer as its index wrote; None: not known."""
    pool, index = analysis.capture.tensors[op.inputs[0]], analysis.capture.given.get(op.index, {}).get("1")
    if index is None or not pool.shape or pool.nbytes != pool.extent:
        return None
    size = pool.extent // pool.shape[0]
    return pool.offset + int(index) % pool.shape[0] * size, size


def _is_read(analysis: Analysis, pool: int, slot: tuple[int, int], start: int, end: int) -> bool:
    """Whether some op read that part of the pool, other than to take a view of it or to assign to it."""
    tensors, (offset, extent) = analysis.capture.tensors, slot
    storage = tensors[pool].storage

    def met(op: Op) -> bool:
        given = op.inputs[1:] if op.name == _ASSIGNS else op.inputs
        records = (tensors[tensor] for tensor in given)
        return any(
            r.storage == storage and r.offset < offset + extent and offset < r.offset + r.extent for r in records
        )

    views = OpKind.VIEWS | OpKind.ALIASES
    return any(met(op) and not is_a(op.name, views) for op in analysis.capture.ops[start:end])
