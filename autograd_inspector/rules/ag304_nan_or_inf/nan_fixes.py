"""AG304: what to write instead of an op that made NaN or Inf."""

from __future__ import annotations

from typing import Final

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.values import ValueFault

_ROOTS = OpKind.TAKES_ROOT | OpKind.NORM
_QUOTIENTS = OpKind.DIVIDES | OpKind.INVERTS
_OF_ZERO = _ROOTS | _QUOTIENTS | OpKind.TAKES_LOG
"""They, or their derivatives, make Inf of a zero."""
_CURES: Final = {
    _ROOTS: "Keep it away from 0: `torch.sqrt(x + eps)`, or torch.linalg.vector_norm, whose derivative at 0 is 0.",
    _QUOTIENTS: "Divide by something that is never 0: `x / torch.where(y == 0, 1, y)`; masking the result afterwards is too "
    "late.",
    OpKind.EXPONENTIATES: "Bound its argument in the branch that is not used as well: `torch.exp(x.clamp(max=...))`.",
    OpKind.TAKES_LOG: "Keep its argument away from 0: `torch.log(x.clamp(min=eps))`, or log_softmax / log1p.",
    OpKind.TAKES_LOG_BESIDE_ONE: "Keep its argument above -1: `torch.log1p(x.clamp(min=-1 + 1e-6))`.",
    OpKind.SPREADS: "The std or var of one value is 0 / 0: take it over more than one, or pass correction=0.",
    OpKind.SOFTMAX: "A row that is -inf throughout, or holds +inf, has no softmax: leave one position of each row unmasked, "
    "or mask with a finite number: `masked_fill(mask, torch.finfo(x.dtype).min)`.",
    OpKind.POWERS: "A negative base with a fractional exponent gives NaN, and below 1 the derivative at 0 is infinite: keep "
    "the base positive, `x.clamp(min=eps).pow(p)`.",
    OpKind.ALIGNS: "A target that is longer than its input, or has repeated labels and too few steps between them, has no alignment, "
    "and its loss is infinite: leave such samples out, or use `nn.CTCLoss(zero_infinity=True)`.",
    OpKind.ARC: "Its derivative is infinite at -1 and 1: keep the argument strictly inside, `x.clamp(-1, 1) * (1 - 1e-6)`, "
    "or take torch.atan2(sine, cosine), which has a derivative there.",
}
"""What an op does -> what to write instead."""


def cure(op: Op | None) -> str:
    """What to write instead of an op that makes NaN or Inf, or whose derivative does."""
    cures = (text for kinds, text in _CURES.items() if op is not None and is_a(op.name, kinds))
    return next(cures, "Bound the inputs of this op, or compute in a wider dtype.")


def is_indefinite(op: Op) -> bool:
    """Whether an op makes NaN of two values of which one is infinite: of their difference, of a product with 0."""
    return is_a(op.name, OpKind.SUBTRACTS | OpKind.MULTIPLIES)


def overflow_cure(analysis: Analysis, fault: ValueFault, op: Op) -> str:
    """The same of an op that made Inf out of finite values."""
    halves = {analysis.capture.tensors[t].dtype for t in op.outputs} == {"float16"}
    if halves and not is_a(op.name, _OF_ZERO):
        return "float16 ends at 65504: compute this in float32 (`x.float()` before it), or in bfloat16."
    if is_a(op.name, OpKind.POWERS) and any(values.size > 1 for values in fault.inputs):
        return "Bound the base (`x.clamp(-c, c)`), or compute in a wider dtype."
    return cure(op)


def explained_by_size(op: Op, what: str) -> bool:
    """Whether what the op makes may come of the size of what it is given: Inf, or NaN where two of them meet.

    Some ops make Inf out of a zero, and some have NaN of their own.
    """
    return not is_a(op.name, _OF_ZERO) and (what == "Inf" or not any(is_a(op.name, kinds) for kinds in _CURES))


def all_ignored(analysis: Analysis, fault: ValueFault, op: Op) -> str:
    """The one target that every position of a loss has: a mean that is NaN of sound input is one over nothing."""
    integers = [r for r in fault.inputs if analysis.capture.tensors[r.tensor].dtype.startswith("int")]
    if not is_a(op.name, OpKind.TAKES_CLASSES) or not integers or not all(r.finite for r in fault.inputs):
        return ""
    return f"{integers[0].low:.0f}" if integers[0].low == integers[0].high else ""
