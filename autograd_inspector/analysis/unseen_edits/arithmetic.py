"""What in-place arithmetic adds up to: adding and subtracting the same leaves everything as it was, but for rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a, kinds_of
from autograd_inspector.model.op import Op, Write

Kind = Literal["sum", "product"]
Operand = tuple[int, int]
"""A tensor, and its version when it was read, negative where an alias counts it; (-1, op) of what is not known."""

_ROUNDING = 1e-9


class Effect(Struct, frozen=True):
    """A number, and an operand, with which everything is added (``sign`` 1) or subtracted (-1), multiplied or divided.

    ``factor``: how often the operand is added, or as what power it multiplies. ``computation``: the number of how it was
    computed, -1 where the operand is not known.
    """

    kind: Kind
    sign: int
    number: float
    operand: Operand | None = None
    factor: float = 1.0
    computation: int = -1


def effect_of(analysis: Analysis, op: Op, write: Write) -> Effect | None:
    """What the op does to each element of what it wrote, where it is plain arithmetic."""
    kind_and_sign = _kind_and_sign(op)
    if kind_and_sign is None or op.inputs.count(write.tensor) != 1:
        return None
    kind, sign = kind_and_sign
    number_arguments = analysis.capture.given.get(op.index, {})
    number, alpha = number_arguments.get("1", number_arguments.get("other")), number_arguments.get("alpha", 1.0)
    several = op.name.startswith("_foreach_")
    if is_a(op.name, OpKind.NEGATES):
        number = -1.0
    if number is None:
        operand, times = _operand(analysis, op, op.inputs.index(write.tensor), several=several)
        computation = analysis.computations.of(*operand) if operand[0] >= 0 else -1
        if kind == "sum":
            return Effect(kind, sign, 0.0, operand, sign * alpha * times, computation)
        factor = _power(times, sign)
        return Effect(kind, sign, factor, operand, sign, computation) if factor is not None else None
    if len(op.inputs) > 1 and not several:
        return None
    effect = sign * alpha * number if kind == "sum" else _power(number, sign)
    return Effect(kind, sign, effect) if effect is not None else None


def _power(number: float, sign: int) -> float | None:
    """A number, or its inverse where ``sign`` is -1; None where that is 0 or infinite, so that nothing undoes it."""
    power = number if sign > 0 else 1 / number if number else math.inf
    return power if power and math.isfinite(power) else None


def _kind_and_sign(op: Op) -> tuple[Kind, int] | None:
    """Whether it adds or multiplies, and 1, or -1 where it subtracts or divides."""
    kinds = kinds_of(op.name)
    if kinds & (OpKind.ADDS | OpKind.SUBTRACTS):
        return "sum", 1 if kinds & OpKind.ADDS else -1
    if kinds & (OpKind.MULTIPLIES | OpKind.DIVIDES | OpKind.NEGATES):
        return "product", -1 if kinds & OpKind.DIVIDES else 1
    return None


def _operand(analysis: Analysis, op: Op, at: int, *, several: bool) -> tuple[Operand, float]:
    """(the other operand, how often it is taken): of ``-0.1 * d`` it is d, -0.1 times."""
    half = len(op.inputs) // 2 if several else 1
    if at >= half or at + half >= len(op.inputs):
        return (-1, op.index), 1.0  # A list of numbers, or something else that is not looked into.
    tensor, version = op.inputs[at + half], (*op.versions, *(0 for _ in op.inputs))[at + half]
    times = 1.0
    while (born := analysis.flow.birth(tensor)) is not None and born.inputs:
        source, source_version = born.inputs[0], born.versions[0] if born.versions else 0
        if is_a(born.name, OpKind.ALIASES):
            tensor, version = source, _of_source(analysis, (tensor, version), (source, source_version))
            continue
        taken = _times(analysis, born, version)
        if taken is None:
            break
        times *= taken
        tensor, version = source, source_version
    return (tensor, version), times


def _of_source(analysis: Analysis, alias: Operand, source: Operand) -> int:
    """At which version an alias shows its source; negative: one of the alias, which counts what went through it alone."""
    tensors = analysis.capture.tensors
    if tensors[alias[0]].counter == tensors[source[0]].counter:
        return alias[1]
    return -alias[1] or source[1]


def _times(analysis: Analysis, op: Op, version: int) -> float | None:
    """How often an op took its only operand, where nothing has modified its result since; None: it is no such op."""
    if version or len(op.inputs) != 1:
        return None
    if is_a(op.name, OpKind.NEGATES):
        return -1.0
    kind_and_sign, number = _kind_and_sign(op), analysis.capture.given.get(op.index, {}).get("1", 0.0)
    return _power(number, kind_and_sign[1]) if kind_and_sign is not None and kind_and_sign[0] == "product" else None


Outcome = Literal["nothing", "perhaps nothing", "something"]


def together(effects: Iterable[Effect]) -> Outcome:
    """What effects of one kind on the same memory do, one after the other.

    "perhaps nothing": what was added and what was subtracted were computed in the same way, and whether they are the
    same numbers is not known.
    """
    members = list(effects)
    product = members[0].kind == "product"
    number = math.prod(effect.number for effect in members) - 1 if product else sum(effect.number for effect in members)
    factors: dict[Operand, float] = {}
    for effect in members:
        if effect.operand is not None:
            factors[effect.operand] = factors.get(effect.operand, 0.0) + effect.factor
    small = _ROUNDING * max(max(abs(effect.number), abs(effect.factor)) for effect in members)
    left = {operand: factor for operand, factor in factors.items() if abs(factor) > small}
    if not left:
        return "nothing" if abs(number) <= small else "something"
    computed = {effect.operand: effect.computation for effect in members if effect.operand is not None}
    if any(computed[operand] < 0 for operand in left):
        up = [1.0 if product else number, *left.values()]
        return "perhaps nothing" if min(up) < 0 < max(up) else "something"
    return "perhaps nothing" if abs(number) <= small and _cancel(left, computed, small) else "something"


def _cancel(factors: Mapping[Operand, float], computed: Mapping[Operand, int], small: float) -> bool:
    """Whether nothing is left if what was computed alike is the same, and a tensor what it was before it was modified."""
    sums: dict[int, float] = {}
    first: dict[int, int] = {}
    for operand, factor in factors.items():
        computation = first.setdefault(operand[0], computed[operand])
        sums[computation] = sums.get(computation, 0.0) + factor
    return all(abs(left) <= small for left in sums.values())
