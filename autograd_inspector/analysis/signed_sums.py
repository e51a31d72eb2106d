"""Sums written out as terms with signs: ``a - b`` is ``a`` and minus ``b``, ``-a`` is minus ``a``, ``2 - a`` as well."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

SUMS = OpKind.ADDS | OpKind.SUBTRACTS


def signed_operands(op: Op) -> Iterator[tuple[int, int]]:
    """(place among the inputs, sign) of each operand of a sum, or of what a call negates."""
    signs = (1, 1)
    if is_a(op.name, OpKind.SUBTRACTS):
        signs = (-1, 1) if is_a(op.name, OpKind.REVERSED) else (1, -1)
    if is_a(op.name, OpKind.NEGATES):
        signs = (-1, -1)
    yield from zip(range(len(op.inputs)), signs, strict=False)
