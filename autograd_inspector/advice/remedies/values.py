"""Operands that an op can be computed from: away from where it, or its derivative, is not finite, or is zero."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Operand, OtherModule, Remedies, Rename, StraightThrough

_GUARDS = {
    "sqrt": ("first", "{}.clamp(min=1e-12)"),
    "rsqrt": ("first", "{}.clamp(min=1e-12)"),
    "exp": ("first", "{}.clamp(max=50.0)"),
    "log": ("first", "{}.clamp(min=1e-12)"),
    "log2": ("first", "{}.clamp(min=1e-12)"),
    "log10": ("first", "{}.clamp(min=1e-12)"),
    "pow": ("first", "{}.clamp(min=1e-12)"),
    "acos": ("first", "{}.clamp(-1 + 1e-6, 1 - 1e-6)"),
    "asin": ("first", "{}.clamp(-1 + 1e-6, 1 - 1e-6)"),
    "reciprocal": ("first", "torch.where({} == 0, 1, {})"),
    "div": ("last", "torch.where({} == 0, 1, {})"),
    "true_divide": ("last", "torch.where({} == 0, 1, {})"),
}
"""Op -> which operand, and what to compute with instead of it."""


_ONLY_THE_DERIVATIVE = {"sqrt": ("first", "{} + 1e-12"), "rsqrt": ("first", "{} + 1e-12")}


def kept_finite(analysis: Analysis, op: Op | None, *, forward: bool) -> Iterator[Remedies]:
    """The op with an operand that is kept away from where it (``forward``), or its derivative alone, is not finite."""
    place = analysis.capture.place(op.site) if op is not None else None
    guards = _GUARDS if forward else _GUARDS | _ONLY_THE_DERIVATIVE
    guard = guards.get(op.name.strip("_")) if op is not None else None
    if place is not None and guard is not None:
        yield (Operand(place, "last" if guard[0] == "last" else "first", guard[1]),)


def straight_through(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """The hard value forward, and the gradient of what it was computed from."""
    place, tensors = analysis.capture.place(op.site), analysis.capture.tensors
    alike = bool(op.inputs) and [tensors[t].shape for t in op.outputs] == [tensors[op.inputs[0]].shape]
    if place is not None and alike:
        yield (StraightThrough(place),)


def sloped(analysis: Analysis, op: Op) -> Iterator[Remedies]:
    """A ReLU whose inputs are all negative gets a slope there as well."""
    call = analysis.capture.calls[op.call] if op.call >= 0 else None
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
