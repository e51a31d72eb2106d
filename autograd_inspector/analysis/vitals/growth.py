"""Whether gradients, or updates, of the whole model grow out of bounds over the steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import median
from typing import NamedTuple

from autograd_inspector.model.vitals import Figure, ParameterVitals, Vitals

FEWEST = 8
"""Kept steps: of fewer nothing is said about a run."""
FACTOR = 1e4
_LASTS = 0.1
"""Of its largest value the norm has so much at the end, else it was a spike."""
LARGE = 0.3
"""Updates of about a thousandth of the weights are usual; of a third, a few steps replace what was learned."""
_STEPS = 16
_LAST = 10


class Growth(NamedTuple):
    """The gradient norm of all parameters at first (the median of the first third), and at its largest."""

    before: float
    largest: float
    step: int
    row: ParameterVitals
    """The one that has most of it there."""


class Churn(NamedTuple):
    """The part of its weights that each of the last steps changed: the least and the largest."""

    least: float
    largest: float
    steps: int
    row: ParameterVitals


def growth_of(vitals: Vitals) -> Growth | None:
    """Gradients that grow to ten thousand times what they were, and stay large; None where they do not."""
    norms = [_norm(row.gradient.values[place] for row in vitals.parameters if row.gradient.values)
             for place in range(len(vitals.steps))]  # fmt: skip
    known = [norm for norm in norms if norm is not None]
    if len(known) < FEWEST or not all(map(math.isfinite, known)):  # What is not finite has a rule of its own.
        return None
    before, largest = median(known[: max(len(known) // 3, 1)]), max(known)
    if not before or largest < FACTOR * before or known[-1] < _LASTS * largest:
        return None
    place = norms.index(largest)
    return Growth(
        before, largest, vitals.steps[place], max(vitals.parameters, key=lambda row: _at(row.gradient, place))
    )


def churn_of(vitals: Vitals) -> Churn | None:
    """Steps that change a third of the weights and more, again and again; None where there are none.

    The first ones do not count: a weight that begins at zero, as LoRA's B does, is all new then.
    """
    ratios = [ratio for place in range(len(vitals.steps)) if (ratio := _ratio(vitals, place)) is not None]
    if len(ratios) < _STEPS or min(ratios[-_LAST:]) < LARGE:
        return None
    place = len(vitals.steps) - 1
    row = max(vitals.parameters, key=lambda one: _at(one.update, place) * _at(one.weight, place))
    return Churn(min(ratios[-_LAST:]), max(ratios[-_LAST:]), len(ratios), row)


def _ratio(vitals: Vitals, place: int) -> float | None:
    """How far all parameters together moved, over their norm."""
    moved = whole = 0.0
    for row in vitals.parameters:
        update, weight = _at(row.update, place), _at(row.weight, place)
        if update >= 0 and weight >= 0:
            moved += (update * weight) ** 2
            whole += weight**2
    return math.sqrt(moved / whole) if whole and math.isfinite(moved / whole) else None


def _at(figure: Figure, place: int) -> float:
    """-1 where there is nothing."""
    value = figure.values[place] if figure.values else None
    return -1.0 if value is None else value


def _norm(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.sqrt(sum(value**2 for value in known)) if known else None
