"""The vitals for the front end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from autograd_inspector.model.vitals import MemoryVitals, Vitals
from autograd_inspector.views import wire
from autograd_inspector.views.summaries.vitals import VitalsRow, quantities_of
from autograd_inspector.views.tables.columns import legible

MEMORY = ("parameters", "gradients", "state", "saved", "peak")


def wired_vitals(vitals: Vitals, models: Sequence[str]) -> wire.Vitals | None:
    """A table a quantity; None where nothing was collected."""
    if not vitals:
        return None
    quantities = [
        wire.Quantity(quantity.key, quantity.title, quantity.logarithmic, tuple(map(_row, quantity.rows)))
        for quantity in quantities_of(vitals, models)
    ]
    return wire.Vitals(
        vitals.steps,
        vitals.seen,
        tuple(quantities),
        tuple(_memory(vitals.memory)),
        vitals.scale.updates,
        tuple(map(_number, vitals.scale.values)),
    )


def _row(row: VitalsRow) -> wire.VitalsRow:
    values = tuple(None if value is None else _number(value) for value in row.values)
    peak = row.peak if row.peak is not None and math.isfinite(row.peak) else None
    return wire.VitalsRow(legible(row.label), legible(row.path), values, peak, row.peak_step)


def _memory(memory: MemoryVitals) -> Iterable[wire.MemoryLine]:
    for name in MEMORY:
        values = getattr(memory, name)
        if any(value is not None for value in values):
            yield wire.MemoryLine(name, values)


def _number(value: float) -> wire.Number:
    if math.isfinite(value):
        return float(f"{value:.4g}")
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
