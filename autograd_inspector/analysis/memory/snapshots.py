"""Values that were to be kept, and are not: an alias of memory that was modified before the program came back to it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.memory.restored import region
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_WEIGHS = OpKind.MULTIPLIES | OpKind.DIVIDES
_JOINS = OpKind.STACKS | OpKind.CONCATENATES
_ASIDE = Trait.STEP | Trait.BACKWARD
_MEETS = OpKind.COPIES_INTO | OpKind.SUBTRACTS | OpKind.COMPARES | _JOINS


class Snapshot(Struct, frozen=True):
    """``alias`` shows the memory of ``tensor`` since ``taken``; ``changed`` modified it, then ``used`` met both.

    ``restores``: it wrote the one over the other. ``sums``: it added the one, which was taken again since, to the other.
    ``teaches``: a module computed a constant of the loss with the one, and the loss trains the other.
    """

    alias: int
    tensor: int
    taken: Op
    changed: Op
    used: Op
    restores: bool
    sums: bool = False
    teaches: bool = False


def aliased_snapshots(analysis: Analysis) -> Iterator[Snapshot]:
    """Of each op that copies a tensor onto itself, compares or joins it with itself, where it was modified since."""
    for op in analysis.capture.ops:
        if (is_a(op.name, _MEETS) or assigns(op)) and not op.has(_ASIDE):
            for one, other in _pairs(op):
                snapshot = _snapshot(analysis, op, one, other)
                if snapshot is not None:
                    yield snapshot
        elif is_a(op.name, OpKind.ADDS) and len(op.inputs) == 2 and not op.writes and not op.has(_ASIDE):
            snapshot = _summed(analysis, op)
            if snapshot is not None:
                yield snapshot


def _pairs(op: Op) -> Iterator[tuple[int, int]]:
    """The tensors that an op takes in together: neighbours of a stack, the two of a plain call or of lists of `_foreach_`.

    An assignment to ``.data`` that writes takes in one, which has other memory; that of its own memory takes in two.
    """
    if is_a(op.name, _JOINS):
        yield from pairwise(op.inputs)
        return
    half = len(op.inputs) // 2
    if len(op.inputs) == 2 * half:
        yield from zip(op.inputs[:half], op.inputs[half:], strict=True)


def _summed(analysis: Analysis, op: Op) -> Snapshot | None:
    """What was kept of one memory at two times, with a write in between, and is read and added up after it."""
    tensors = analysis.capture.tensors
    (one, read), (other, _) = (_addend(analysis, tensor, op.index) for tensor in op.inputs)
    first, last = (taken_as_alias(analysis, tensor) for tensor in (one, other))
    if one == other or first is None or last is None or region(tensors[one]) != region(tensors[other]):
        return None
    changed = changed_since(analysis, one, first, last) if first.index < last.index else None
    if changed is None or read < changed.index:
        return None
    return Snapshot(one, other, first, changed, op, restores=False, sums=True)


def _addend(analysis: Analysis, tensor: int, read: int) -> tuple[int, int]:
    """(what was weighted, or added last, to make a term of a sum; the op that read it)."""
    tensors, ops = analysis.capture.tensors, analysis.capture.ops
    while (birth := tensors[tensor].birth) >= 0:
        made = ops[birth]
        weighted = is_a(made.name, _WEIGHS) and len(made.inputs) == 1
        if made.writes or not (weighted or (is_a(made.name, OpKind.ADDS) and made.inputs)):
            break
        tensor, read = made.inputs[-1], birth
    return tensor, read


def _snapshot(analysis: Analysis, op: Op, one: int, other: int) -> Snapshot | None:
    records = analysis.capture.tensors
    a, b = records[one], records[other]
    if one == other or (a.storage, a.offset, a.shape, a.extent) != (b.storage, b.offset, b.shape, b.extent):
        return None
    taken = {tensor: made for tensor in (one, other) if (made := taken_as_alias(analysis, tensor)) is not None}
    if a.storage < 0 or not taken:
        return None
    alias = min(taken, key=lambda tensor: taken[tensor].index)
    changed = changed_since(analysis, alias, taken[alias], op)
    if changed is None:
        return None
    restores = assigns(op) or is_a(op.name, OpKind.COPIES_INTO)
    return Snapshot(alias, other if alias == one else one, taken[alias], changed, op, restores)


def taken_as_alias(analysis: Analysis, tensor: int) -> Op | None:
    """The op that made an alias for the program to keep."""
    birth = analysis.capture.tensors[tensor].birth
    made = analysis.capture.ops[birth] if birth >= 0 else None
    return made if made is not None and is_a(made.name, OpKind.ALIASES) and made.inputs else None


def changed_since(analysis: Analysis, alias: int, taken: Op, used: Op) -> Op | None:
    """The last op that modified the memory past the alias: who writes through the alias means to change it."""
    storage = analysis.capture.tensors[alias].storage
    latest = analysis.writes_back(storage, taken.index + 1, used.index)
    past = (op for op, write in latest if not assigns(op) and not _derived(analysis, write.tensor, alias))
    return next(past, None)


def _derived(analysis: Analysis, tensor: int, alias: int) -> bool:
    """Whether a tensor is that alias, or a view of it."""
    tensors, ops = analysis.capture.tensors, analysis.capture.ops
    while tensor > alias:
        birth = tensors[tensor].birth
        if birth < 0 or not ops[birth].inputs or not is_a(ops[birth].name, OpKind.VIEWS):
            return False
        tensor = ops[birth].inputs[0]
    return tensor == alias
