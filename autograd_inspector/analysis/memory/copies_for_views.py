"""Copies of parameters that were taken for views, and written to in vain: ``w.reshape(-1)`` of a transposed weight."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.assigned_data import assigns
from autograd_inspector.analysis.memory.ledger import ASIDE, Ledger
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.op import Op, Trait


class CopyForView(Struct, frozen=True):
    """``taken`` returned a copy of ``parameter``, where it returns a view of most tensors; ``written`` wrote to it."""

    parameter: int
    taken: Op
    written: Op


def copies_for_views(analysis: Analysis) -> Iterator[CopyForView]:
    """One for each line that takes the copy, where the program goes on to compute with the parameter.

    Nothing reads the copy once it has been written to, but to take a number of it. What is written before and behind a
    step as well is a state.
    """
    taken = _taken(analysis)
    shown: dict[int, list[int]] = {storage: [] for storage in taken}
    for record in analysis.capture.tensors if taken else ():
        if record.storage in shown:
            shown[record.storage].append(record.id)
    ledger: Ledger | None = None
    told: set[int] = set()
    for storage, (parameter, op) in taken.items():
        written = _unread(analysis, storage, op, shown[storage]) if op.site not in told else None
        if written is not None:
            ledger = ledger or Ledger(analysis)
            if ledger.computed_with(parameter, written.index, len(analysis.capture.ops)):
                told.add(op.site)
                yield CopyForView(parameter, op, written)


def _taken(analysis: Analysis) -> dict[int, tuple[int, Op]]:
    """The memory of such a copy -> the parameter, and the op that made it.

    A tensor that gets other memory by ``.data`` afterwards had another one when a view of it was taken.
    """
    tensors = analysis.capture.tensors
    owned = {tensors[t].storage: t for t in analysis.optimized_trainable if tensors[t].storage >= 0}
    rebound = {write.tensor: op.index for op in writing(analysis.capture) if assigns(op) for write in op.writes}
    found: dict[int, tuple[int, Op]] = {}
    for op in analysis.capture.ops if owned else ():
        if is_a(op.name, OpKind.RESHAPES) and len(op.inputs) == len(op.outputs) == 1 and not op.has(ASIDE):
            source, result = tensors[op.inputs[0]], tensors[op.outputs[0]]
            if max(rebound.get(source.id, -1), rebound.get(result.id, -1)) > op.index:
                continue
            if source.storage in owned and result.storage not in owned and result.storage >= 0 and not op.writes:
                found[result.storage] = owned[source.storage], op
    return found


def _unread(analysis: Analysis, storage: int, taken: Op, shown: list[int]) -> Op | None:
    """The first op that wrote to a copy, where nothing but a look at a number comes behind it."""
    capture = analysis.capture
    writers = [op for op, _ in analysis.writes_in(storage, taken.index + 1, len(capture.ops))]
    if not writers or any(op.has(ASIDE | Trait.COLLECTIVE) for op in writers):
        return None
    first, last = writers[0], writers[-1]
    if any(step.op < last.index for step in analysis.timeline.steps.within(taken.index, last.index)):
        return None
    if any(capture.tensors[tensor].looked_at for tensor in shown):
        return None
    readers = (capture.ops[at] for tensor in shown for at in capture.readers.get(tensor, ()) if at > first.index)
    return first if all(_only_looks(analysis, op, storage) for op in readers) else None


def _only_looks(analysis: Analysis, op: Op, storage: int) -> bool:
    """Whether an op writes to the memory, shows it, or takes one number of it."""
    tensors = analysis.capture.tensors
    if any(write.storage == storage for write in op.writes):
        return True
    if op.has(Trait.EXPORT):
        return all(size == 1 for tensor in op.inputs for size in tensors[tensor].shape)
    return bool(op.outputs) and all(tensors[tensor].storage == storage for tensor in op.outputs)
