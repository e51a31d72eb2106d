"""Numbers that the program gave to an op and that turn the sign of an operand, or take it out: ``-1 * a``, ``alpha=-lr``.

Of numbers above zero the capture keeps none; the factor is then 1, which has the same sign.
"""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.signed_sums import SUMS, signed_operands
from autograd_inspector.model.op import Op
from autograd_inspector.model.torch_names import FOR_EACH

_KEEPS_SIGN = (
    OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.DETACHES | OpKind.MULTIPLIES | OpKind.DIVIDES
    | OpKind.COPIES_INTO
)  # fmt: skip
_FURTHEST = 64


def factor_of(analysis: Analysis, op: Op) -> float:
    """What a product, or a quotient, multiplies its operand by, as far as its sign is known."""
    if not is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES):
        return 1.0
    return analysis.capture.given.get(op.index, {}).get("1", 1.0)


def adds_turned(analysis: Analysis, op: Op) -> bool:
    """Whether a sum subtracts its second operand, by a factor that it was given: ``a.add(b, alpha=-1)``."""
    return is_a(op.name, OpKind.ADDS) and analysis.capture.given.get(op.index, {}).get("alpha", 1.0) < 0


def sign_of(analysis: Analysis, op: Op, sources: Collection[int], since: int) -> int:
    """The sign with which what an op wrote, or returned, contains what was computed of ``sources`` after op ``since``.

    0 where it is not known: a product with a tensor counts as one with a positive number, as norms and rates are.
    """
    sign, tensor, writes = 1, -1, op
    for _ in range(_FURTHEST):
        operands = list(_signed(analysis, writes))
        met = [(operand, turned) for operand, turned in operands if operand in sources]
        if not met:
            return 0
        tensor, turned = met[-1]
        sign *= turned
        made = [index for index in analysis.flow.producers(tensor, writes.index) if index >= since]
        if not made:
            return sign
        writes = analysis.capture.ops[made[-1]]
    return 0


def _signed(analysis: Analysis, op: Op) -> list[tuple[int, int]]:
    """(operand, sign) of what keeps, or turns, the sign of its operands; nothing of other ops."""
    if is_a(op.name, OpKind.NEGATES):
        return [(tensor, -1) for tensor in op.inputs]
    if is_a(op.name, OpKind.MULTIPLIES | OpKind.DIVIDES) and not op.name.startswith(FOR_EACH):
        # What has another shape is a norm, or a rate: it scales the other one.
        tensors = analysis.capture.tensors
        shapes = {tensors[tensor].shape for tensor in (*op.outputs, *(write.tensor for write in op.writes))}
        factor = -1 if factor_of(analysis, op) < 0 else 1
        return [(tensor, factor) for tensor in op.inputs if tensors[tensor].shape in shapes]
    name = f"{op.name}_" if op.name.startswith(FOR_EACH) and not op.name.endswith("_") else op.name
    if is_a(name, SUMS):
        turned = -1 if adds_turned(analysis, op) else 1
        half = len(op.inputs) // 2 if op.name.startswith(FOR_EACH) else 1
        second = -1 if is_a(name, OpKind.SUBTRACTS) else turned
        if half != 1:
            return [(tensor, 1 if at < half else second) for at, tensor in enumerate(op.inputs)]
        return [(op.inputs[at], sign * (turned if at else 1)) for at, sign in signed_operands(op)]
    return [(tensor, 1) for tensor in op.inputs] if is_a(name, _KEEPS_SIGN) else []
