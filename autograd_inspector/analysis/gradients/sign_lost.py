"""Gradients that an in-place call left without their sign before a step used them: all of them point one way then."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import writes_into
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op


class SignLost(Struct, frozen=True):
    """``ops`` left nothing but the size of the gradients of ``tensors``, which ``step`` then used; one line."""

    ops: tuple[Op, ...]
    tensors: tuple[int, ...]
    step: Step


def signs_lost(analysis: Analysis) -> Iterator[SignLost]:
    """One for each line that does it."""
    by_site: dict[int, dict[int, tuple[Op, Step]]] = {}
    for step in analysis.capture.steps:
        for parameter in step.parameters if not step.error else ():
            op = _squared(analysis, step, parameter)
            if op is not None:
                by_site.setdefault(op.site, {}).setdefault(parameter.tensor, (op, step))
    for found in by_site.values():
        yield SignLost(tuple(op for op, _ in found.values()), tuple(found), next(iter(found.values()))[1])


def _squared(analysis: Analysis, step: Step, parameter: ParameterStep) -> Op | None:
    """The call after the last backward that lost the sign, where no later one put anything else there."""
    runs = analysis.timeline.backwards_to(parameter.tensor).within(0, step.updates_from)
    lost: Op | None = None
    for op, _ in writes_into(analysis, parameter.gradient, runs[-1].end, step.updates_from) if runs else ():
        if _is_even(analysis, op):
            lost = op
        elif len(set(op.inputs)) > 1 or is_a(op.name, OpKind.COPIES_INTO | OpKind.SETS_NUMBER):
            lost = None
    return lost


def _is_even(analysis: Analysis, op: Op) -> bool:
    if is_a(op.name, OpKind.POWERS):
        exponents = analysis.capture.given.get(op.index, {}).values()
        return len(op.inputs) == 1 and any(each > 0 and each % 2 == 0 for each in exponents)
    return is_a(op.name, OpKind.EVEN)
