"""Operands that an op can be computed from: away from where it, or its derivative, is not finite, or is zero."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final, Literal

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Operand, OtherModule, Remedies, Rename, SetArgument, StraightThrough

_GUARDS: Final[tuple[tuple[OpKind, Literal["first", "last"], str], ...]] = (
    (OpKind.TAKES_ROOT | OpKind.TAKES_LOG | OpKind.POWERS, "first", "{}.clamp(min=1e-12)"),
    (OpKind.TAKES_LOG_BESIDE_ONE, "first", "{}.clamp(min=-1 + 1e-6)"),
    (OpKind.EXPONENTIATES, "first", "{}.clamp(max=50.0)"),
    (OpKind.ARC, "first", "{}.clamp(-1, 1) * (1 - 1e-6)"),
    (OpKind.DIVIDES, "last", "torch.where({} == 0, 1, {})"),
    (OpKind.INVERTS, "first", "torch.where({} == 0, 1, {})"),
)
"""What an op does -> which operand, and what to compute with instead of it."""


def kept_finite(analysis: Analysis, op: Op | None, *, forward: bool) -> Iterator[Remedies]:
    """The op with an operand that is kept away from where it (``forward``), or its derivative alone, is not finite."""
    place = analysis.capture.place(op.site) if op is not None else None
    if op is None or place is None:
        return
    if forward and is_a(op.name, OpKind.REDUCES) and not _elements(analysis, op):
        yield (Operand(place, "whole", "{}.nan_to_num()"),)
        return
    if forward and is_a(op.name, OpKind.SPREADS) and "unbiased" not in place.expression:
        yield (SetArgument(place, op.name, "correction", "0"),)
        return
    for kinds, which, instead in _GUARDS:
        if is_a(op.name, kinds):
            root = is_a(op.name, OpKind.TAKES_ROOT) and not forward
            yield (Operand(place, which, "{} + 1e-12" if root else instead),)
            return


def _elements(analysis: Analysis, op: Op) -> int:
    return prod(analysis.capture.tensors[op.inputs[0]].shape) if op.inputs else 1


def masked_finitely(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """What was set to -inf is a large negative number: a row of nothing else still has a softmax."""
    place = analysis.capture.place(op.site)
    dtypes = {analysis.capture.tensors[t].dtype for t in op.outputs}
    if place is not None and is_a(op.name, OpKind.CHOOSES):
        yield (Operand(place, "last", "-1e4" if dtypes == {"float16"} else "-1e9"),)


def sampled_smoothly(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """What picked the nearest element interpolates instead."""
    place = analysis.capture.place(op.site)
    if place is not None:
        yield (SetArgument(place, op.name, "mode", '"bilinear"'),)


def straight_through(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The hard value forward, and the gradient of what it was computed from."""
    place, tensors = analysis.capture.place(op.site), analysis.capture.tensors
    if _is_an_index(analysis, op):
        return
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


def _is_an_index(analysis: Analysis, op: Op) -> bool:
    """Whether integers that it returns, or that are computed from them, say which elements of another tensor are taken."""
    todo = _integers(analysis, op)
    met = set(todo)
    while todo:
        tensor = todo.pop()
        for reader in (analysis.capture.ops[at] for at in analysis.capture.readers.get(tensor, ())):
            whole = is_a(reader.name, OpKind.VIEWS) and reader.inputs[:1] == (tensor,)
            if not whole and is_a(reader.name, OpKind.SELECTS | OpKind.RENORMALISES) and len(set(reader.inputs)) > 1:
                return True
            fresh = [made for made in _integers(analysis, reader) if made not in met]
            met.update(fresh)
            todo += fresh
    return False


def _integers(analysis: Analysis, op: Op) -> list[int]:
    return [tensor for tensor in op.outputs if analysis.capture.tensors[tensor].dtype.startswith("int")]


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


def smooth(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A hyperbolic tangent in the place of a ReLU, which has no second derivative."""
    call = analysis.capture.call_of(op)
    if op.name.strip("_") != "relu":
        return
    if call is not None and call.type == "ReLU":
        yield from ((OtherModule(place, "ReLU", "Tanh"),) for place in analysis.user_frames(op.site, ""))
    else:
        yield from ((Rename(place, "tanh"),) for place in analysis.user_frames(op.site, "")[:1])
