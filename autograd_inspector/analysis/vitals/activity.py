"""Activation functions whose units are dead, or at the flat ends of their range, step after step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.model.vitals import ModuleVitals, Vitals

DEAD = 0.5
"""Share of a layer's units."""
_STEPS = 16
"""Batches in which a unit is never active: fewer may not show what it is there for."""
SATURATED = 0.9
_LAST = 5


def dead_rows(vitals: Vitals) -> Iterator[ModuleVitals]:
    """Layers of which half the units or more were 0 for every input of every step."""
    for row in vitals.modules:
        if row.units and row.never >= DEAD * row.units and len(row.dead.measured) >= _STEPS:
            yield row


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
