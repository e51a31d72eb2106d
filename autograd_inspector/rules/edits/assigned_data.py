"""Assignments to ``.data``: they give a tensor other memory, and leave what it had as it was."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.model.op import Op, Write
from autograd_inspector.rules.facts import Facts

Edit = tuple[Op, Write]


def effective(facts: Facts, tensor: int, edits: Iterable[Edit]) -> list[Edit]:
    """The edits without the assignments that a later reader of that tensor cannot see.

    Only who keeps the very tensor that was assigned to follows it: a view of it (a transposed weight) and the result
    of an op keep the old memory. Weights that are swapped in and out again are the old ones as well.
    """
    given = list(edits)
    assigned = [(op, write) for op, write in given if assigns(op) and write.tensor == tensor]
    if assigned:
        source, before = assigned[-1][0].inputs[0], assigned[0][1].storage
        if facts.capture.tensors[source].storage != before:
            return [(op, write) for op, write in given if not assigns(op) or write.tensor == tensor]
    return [(op, write) for op, write in given if not assigns(op)]


def assigns(op: Op) -> bool:
    """Whether the op is an assignment to ``.data``."""
    return op.name == "set_data"
