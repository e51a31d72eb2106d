"""Memory that was overwritten and then given back what it had: a copy taken before, and copied in again."""

from __future__ import annotations

from autograd_inspector.model.op import Op, Write
from autograd_inspector.rules.facts import Facts

Edit = tuple[Op, Write]

_COPIES = frozenset({"clone", "__deepcopy__"})
"""Ops that return the same numbers in memory of their own."""
COPYING = frozenset({"copy_", "_foreach_copy_"})
_SAME = frozenset({"detach", "data", "alias"})
"""Ops that return the same numbers in the same memory, and all of them."""


def restored(facts: Facts, edits: list[Edit], start: int) -> bool:
    """Whether the last of the edits put back what was there at op ``start``, bit by bit.

    It copies in, over all that the others wrote, a copy that was taken of the very same memory before the first edit,
    and that nobody wrote to in between. ``edits`` are all writes to that memory since ``start``, in order.
    """
    if len(edits) < 2:
        return False
    op, write = edits[-1]
    kept = _copied_in(op, write)
    taken = None if kept is None else _taken(facts, kept)
    if taken is None or taken.index > edits[0][0].index or not _alike(facts, write, taken):
        return False
    storage, copy = facts.capture.tensors[write.tensor].storage, facts.capture.tensors[taken.outputs[0]].storage
    before = facts.writes_to(storage, -1, taken.index + 1, start)  # Then it is a copy of something else.
    within = facts.writes_to(copy, -1, taken.index + 1, op.index)
    return not any((*before, *within)) and all(_within(facts, other, write) for _, other in edits)


def _taken(facts: Facts, kept: int) -> Op | None:
    """The op that took the copy which a tensor shows."""
    capture = facts.capture
    birth = capture.tensors[kept].birth
    while birth >= 0 and capture.ops[birth].name in _SAME and capture.ops[birth].inputs:
        birth = capture.tensors[capture.ops[birth].inputs[0]].birth
    taken = capture.ops[birth] if birth >= 0 else None
    return taken if taken is not None and taken.name in _COPIES and taken.inputs and taken.outputs else None


def _alike(facts: Facts, write: Write, taken: Op) -> bool:
    """Whether the copy was taken of just what it is put back into, and rounds nothing."""
    target, source, copy = (facts.capture.tensors[t] for t in (write.tensor, taken.inputs[0], taken.outputs[0]))
    place = (target.storage, target.offset, target.extent, target.shape, target.dtype)
    return (source.storage, source.offset, source.extent, source.shape, source.dtype) == place and (
        copy.shape,
        copy.dtype,
    ) == (target.shape, target.dtype)


def _copied_in(op: Op, write: Write) -> int | None:
    """The tensor whose numbers the op copied over what it wrote."""
    if op.name == "copy_" and len(op.inputs) == 2 and write.tensor == op.inputs[0]:
        return op.inputs[1]
    if op.name == "_foreach_copy_" and len(op.inputs) % 2 == 0 and write.tensor in op.inputs:
        half, place = len(op.inputs) // 2, op.inputs.index(write.tensor)
        return op.inputs[half + place] if place < half else None
    return None


def _within(facts: Facts, write: Write, whole: Write) -> bool:
    part, all_of_it = facts.capture.tensors[write.tensor], facts.capture.tensors[whole.tensor]
    return (
        part.storage == all_of_it.storage
        and all_of_it.offset <= part.offset
        and part.offset + part.extent <= all_of_it.offset + all_of_it.extent
    )
