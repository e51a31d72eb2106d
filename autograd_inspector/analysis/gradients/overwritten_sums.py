"""Sums that go back to the places they were read from, by an index with duplicates."""

from __future__ import annotations

from math import prod

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_OPERANDS = 3


_SUMS = OpKind.ADDS | OpKind.SUBTRACTS


def overwrites_sums(analysis: Analysis, op: Op) -> bool:
    """Whether sums go back to the places that they were read from, by an index that must have duplicates."""
    if len(op.inputs) != _OPERANDS:
        return False
    target, index, value = op.inputs
    tensors = analysis.capture.tensors
    places = tensors[target].shape[:1]
    if not places or not tensors[index].dtype.startswith(("int", "uint")) or tensors[index].dtype == "uint8":
        return False
    return prod(tensors[index].shape) > places[0] and _read_from(analysis, value, target, index)


def _read_from(analysis: Analysis, value: int, target: int, index: int) -> bool:
    """Whether a value is a sum of what was read from that tensor by that index, in place or not."""
    made = analysis.flow.birth(value)
    if made is not None and is_a(made.name, _SUMS):
        return any(_is_read(analysis.flow.birth(term), target, index) for term in made.inputs)
    return _is_read(made, target, index)


def _is_read(made: Op | None, target: int, index: int) -> bool:
    return made is not None and made.name == "__getitem__" and made.inputs[:2] == (target, index)
