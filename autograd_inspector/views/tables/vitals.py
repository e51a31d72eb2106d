"""The vitals for the front end."""

from __future__ import annotations

import math
from collections.abc import Iterable

from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.model.checkpoint_saving import CheckpointSaving
from autograd_inspector.model.vitals import MemoryVitals
from autograd_inspector.views import wire
from autograd_inspector.views.summaries.vitals import VitalsRow, quantities_of
from autograd_inspector.views.tables.columns import legible

_SAVINGS = 12
MEMORY = ("parameters", "gradients", "state", "saved", "peak")


def wired_vitals(report: ReportData) -> wire.Vitals | None:
    """A table a quantity; None where nothing was collected."""
    vitals, models = report.vitals, report.capture.models
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
        tuple(map(_saving, report.checkpoint_savings[:_SAVINGS])),
    )


def _saving(found: CheckpointSaving) -> wire.CheckpointSaving:
    return wire.CheckpointSaving(
        legible(found.name),
        tuple(map(legible, found.modules)),
        found.type,
        found.before,
        found.held,
        found.peak,
        found.ops,
    )


def _row(row: VitalsRow) -> wire.VitalsRow:
    values = tuple(None if value is None else _number(value) for value in row.values)
    peak = row.peak if row.peak is not None and math.isfinite(row.peak) else None
    return wire.VitalsRow(legible(row.label), legible(row.path), values, peak, row.peak_step)


def _memory(memory: MemoryVitals) -> Iterable[wire.MemoryLine]:
    for name in MEMORY:
        values = getattr(memory, name)
        if any(value is not None for value in values):
            ran = (tuple(map(legible, memory.peak_op)), memory.peak_site) if name == "peak" else ((), ())
            yield wire.MemoryLine(name, values, *ran)


def _number(value: float) -> wire.Number:
    if math.isfinite(value):
        return float(f"{value:.4g}")
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
