"""Operands that an op can be computed from: away from where it, or its derivative, is not finite, or is zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Operand, OtherModule, Remedies, Rename, StraightThrough

_GUARDS: Final[tuple[tuple[OpKind, Literal["first", "last"], str], ...]] = (
    (OpKind.TAKES_ROOT | OpKind.TAKES_LOG | OpKind.POWERS, "first", "{}.clamp(min=1e-12)"),
    (OpKind.EXPONENTIATES, "first", "{}.clamp(max=50.0)"),
    (OpKind.ARC, "first", "{}.clamp(-1 + 1e-6, 1 - 1e-6)"),
    (OpKind.DIVIDES, "last", "torch.where({} == 0, 1, {})"),
    (OpKind.INVERTS, "first", "torch.where({} == 0, 1, {})"),
)
"""What an op does -> which operand, and what to compute with instead of it."""


def kept_finite(analysis: Analysis, op: Op | None, *, forward: bool) -> Iterator[Remedies]:
    """The op with an operand that is kept away from where it (``forward``), or its derivative alone, is not finite."""
    place = analysis.capture.place(op.site) if op is not None else None
    if op is None or place is None:
        return
    for kinds, which, instead in _GUARDS:
        if is_a(op.name, kinds):
            root = is_a(op.name, OpKind.TAKES_ROOT) and not forward
            yield (Operand(place, which, "{} + 1e-12" if root else instead),)
            return


def straight_through(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The hard value forward, and the gradient of what it was computed from."""
    place, tensors = analysis.capture.place(op.site), analysis.capture.tensors
    soft = [tensors[t].shape for t in op.inputs[:1]]
    if place is not None and soft and [tensors[t].shape for t in op.outputs] == soft:
        yield (StraightThrough(place),)
    readers = (analysis.capture.ops[at] for t in op.outputs for at in analysis.capture.readers.get(t, ()))
    for hard in readers:
        where = analysis.capture.place(hard.site)
        alike = [tensors[t].shape for t in hard.outputs] == soft and is_a(hard.name, OpKind.DRAWS_DISCRETE)
        if alike and place is not None and where is not None and place.scope == where.scope:
            made = analysis.flow.birth(op.inputs[0])
            scores = made is None or not is_a(made.name, OpKind.SOFTMAX) or is_a(made.name, OpKind.LIKELIHOOD)
            yield (StraightThrough(where, place, ".softmax(-1)" if scores else ""),)


def sloped(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A ReLU whose inputs are all negative gets a slope there as well."""
    call = analysis.capture.call_of(op)
    if op.name.strip("_") != "relu":
        return
    if call is not None and call.type == "ReLU":
        yield from ((OtherModule(place, "ReLU", "LeakyReLU"),) for place in analysis.user_frames(op.site, ""))
        return
    place = analysis.capture.place(op.site)
    owner, _, _ = ("" if place is None else place.expression).partition(".relu(")
    new = {"F": "leaky_relu", "torch.nn.functional": "leaky_relu", "torch": "nn.functional.leaky_relu"}.get(owner, "")
    if place is not None and new:
        yield (Rename(place, new),)
