"""Assignments to ``.data``: they give a tensor other memory, and leave what it had as it was."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.copies import copies
from autograd_inspector.model.op import Op, Write

Edit = tuple[Op, Write]


def effective(analysis: Analysis, tensor: int, edits: Iterable[Edit], end: int) -> list[Edit]:
    """The edits without the assignments that a later reader of that tensor cannot see, at op ``end``.

    Only who keeps the very tensor that was assigned to follows it: a view of it (a transposed weight) and the result
    of an op keep the old memory. Weights that are swapped in and out again are the old ones as well.
    """
    all_edits = list(edits)
    assigned = [(op, write) for op, write in all_edits if assigns(op) and write.tensor == tensor]
    if assigned and not _given_back(analysis, tensor, assigned, end):
        return [(op, write) for op, write in all_edits if not assigns(op) or write.tensor == tensor]
    return [(op, write) for op, write in all_edits if not assigns(op)]


def _given_back(analysis: Analysis, tensor: int, assigned: list[Edit], end: int) -> bool:
    """Whether the tensor has its old memory again, or a copy that was taken of that and not modified since."""
    tensors = analysis.capture.tensors
    (first, write), source = assigned[0], assigned[-1][0].inputs[0]
    if tensors[source].storage == write.storage:
        return True
    taken = copies(analysis, tensor, write.storage, source)
    if not taken or taken[-1].op.index > first.index:
        return False
    if _modified(analysis.writes_to(write.storage, tensor, taken[-1].op.index + 1, first.index)):
        return False
    ends = [end, *(copy.op.index for copy in taken)]
    for copy, until in zip(taken, ends, strict=False):
        shown = tensors[copy.shown]
        since = analysis.writes_in(shown.storage, copy.op.index + 1, until)
        if _modified(edit for edit in since if tensors[edit[1].tensor].overlaps(shown)):
            return False
    return True


def _modified(edits: Iterable[Edit]) -> bool:
    return any(not assigns(op) for op, _ in edits)


def assigns(op: Op) -> bool:
    """Whether the op is an assignment to ``.data``."""
    return op.name == "set_data"
