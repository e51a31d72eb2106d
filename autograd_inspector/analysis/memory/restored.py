"""Memory that is given back what it had: a copy that was taken before, and is copied in again."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Write
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.model.torch_names import COPY_EACH


def taken(analysis: Analysis, op: Op, write: Write) -> Op | None:
    """The op that took the copy which this one puts back, bit by bit: of the very memory, and not written to since."""
    capture = analysis.capture
    kept = copied_in(op, write)
    birth = -1 if kept is None else capture.tensors[kept].birth
    while birth >= 0 and is_a(capture.ops[birth].name, OpKind.ALIASES) and capture.ops[birth].inputs:
        birth = capture.tensors[capture.ops[birth].inputs[0]].birth
    made = capture.ops[birth] if birth >= 0 else None
    if made is None or not is_a(made.name, OpKind.COPIES) or not made.inputs or not made.outputs:
        return None
    if not _alike(analysis, write, made):  # Another part, or rounded.
        return None
    edited = analysis.writes_to(capture.tensors[made.outputs[0]].storage, -1, made.index + 1, op.index)
    return None if any(edited) else made


def written_back(analysis: Analysis, op: Op, exports: Iterable[int]) -> int:
    """The op that took a number out of the memory into which this one assigns it, -1: none.

    Which element it was is not known.
    """
    if op.name != "__setitem__" or len(op.inputs) != 1:
        return -1
    capture = analysis.capture
    target = capture.tensors[op.inputs[0]]
    matching_exports = [e for e in exports if any(capture.tensors[t].overlaps(target) for t in capture.ops[e].inputs)]
    return max(matching_exports, default=-1)


def augmented(analysis: Analysis, op: Op) -> bool:
    """Whether it is the end of ``x[i] += y``: Python assigns the view of ``x`` that was modified to its own place."""
    if op.name != "__setitem__" or len(op.inputs) != 2 or not op.index:
        return False
    target, source = (analysis.capture.tensors[tensor] for tensor in op.inputs)
    before = analysis.capture.ops[op.index - 1]
    return source.overlaps(target) and source.storage >= 0 and any(w.tensor == source.id for w in before.writes)


def region(record: TensorRecord) -> tuple[int, int, int, tuple[int, ...], str]:
    """Which part of which memory a tensor shows."""
    return record.storage, record.offset, record.extent, record.shape, record.dtype


def covers(whole: TensorRecord, part: TensorRecord) -> bool:
    """Whether each element of the one lies in the other."""
    if region(whole) == region(part):
        return True
    dense = whole.nbytes == whole.extent
    return (
        dense
        and part.storage == whole.storage
        and whole.offset <= part.offset
        and part.offset + part.extent <= whole.offset + whole.extent
    )


def _alike(analysis: Analysis, write: Write, made: Op) -> bool:
    """Whether the copy was taken of just what it is put back into, and rounds nothing."""
    target, source, copy = (analysis.capture.tensors[t] for t in (write.tensor, made.inputs[0], made.outputs[0]))
    return region(source) == region(target) and (copy.shape, copy.dtype) == (target.shape, target.dtype)


def copied_in(op: Op, write: Write) -> int | None:
    """The tensor whose numbers the op copied over what it wrote."""
    if op.name == "copy_" and len(op.inputs) == 2 and write.tensor == op.inputs[0]:
        return op.inputs[1]
    if op.name == COPY_EACH and len(op.inputs) % 2 == 0 and write.tensor in op.inputs:
        half, place = len(op.inputs) // 2, op.inputs.index(write.tensor)
        return op.inputs[half + place] if place < half else None
    return None
