"""Assignments to single entries of a tensor (``pool[i] = x``) of which the program also has views."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from autograd_inspector.model.op import Op

_ASSIGNS, _TAKES = "__setitem__", "__getitem__"


def assigned_slots(ops: Sequence[Op]) -> set[int]:
    """All assignments to each tensor an entry of which was taken, and read only after another assignment."""
    assignments: dict[int, list[int]] = {}
    first_read: dict[int, int] = {}
    for op in ops:
        if op.name == _ASSIGNS:
            assignments.setdefault(op.inputs[0], []).append(op.index)
        for tensor in op.inputs:
            first_read.setdefault(tensor, op.index)
    told = set[int]()
    for op in ops if assignments else ():
        there = assignments.get(op.inputs[0]) if op.name == _TAKES and op.inputs else None
        if there is not None and len(op.outputs) == 1:
            after = bisect_right(there, op.index)
            if after < len(there) and there[after] < first_read.get(op.outputs[0], -1):
                told.update(there)
    return told
