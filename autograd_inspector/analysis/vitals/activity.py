"""Activation functions whose units are dead, or at the flat ends of their range, step after step."""

from __future__ import annotations

import math
from collections.abc import Iterator

from autograd_inspector.model.vitals import ModuleVitals, Vitals

_SIGMA = 2.0
"""Of an input that hardly varies over a batch, each unit is off for all of it with probability 1/2: a squeeze-and-excite
gate, or a layer behind a dead one. A layer counts as dead whose number of units that are off lies this many standard
deviations of that binomial, sqrt(units) / 2 each, above the half."""
_STEPS = 16
"""Batches in which a unit is never active: fewer may not show what it is there for."""
SATURATED = 0.9
_LAST = 5


def dead_rows(vitals: Vitals) -> Iterator[ModuleVitals]:
    """Layers of which more units were 0 for every input of every step than an input that hardly varies explains."""
    for row in vitals.modules:
        if row.units and row.never >= _too_many(row.units) and len(row.dead.measured) >= _STEPS:
            yield row


def _too_many(units: int) -> float:
    return min(units / 2 + _SIGMA * math.sqrt(units) / 2, units)


def saturated_rows(vitals: Vitals) -> Iterator[ModuleVitals]:
    """Hidden sigmoids and tanhs of which nine tenths are flat in each of the last steps.

    The last function of a model is left out: that one is to say 0 or 1 once it has learned to.
    """
    for place, row in enumerate(vitals.modules):
        shares = row.saturated.measured
        hidden = any(_computes(later) for later in vitals.modules[place + 1 :])
        if hidden and not row.units and len(shares) >= 2 * _LAST and min(shares[-_LAST:]) >= SATURATED:
            yield row


def _computes(row: ModuleVitals) -> bool:
    """Whether it is a module with weights, not an activation function."""
    return not row.op and row.site < 0
