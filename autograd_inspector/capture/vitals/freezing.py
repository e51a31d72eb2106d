"""A collector's statistics as a record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from autograd_inspector.capture.vitals.collector import Vitals as Collector
from autograd_inspector.model.tensor import TensorRecord
from autograd_inspector.model.vitals import LossScale, MemoryVitals, ModuleVitals, ParameterVitals, Vitals


def frozen(collector: Collector, tensors: Sequence[TensorRecord] = ()) -> Vitals:
    """What it has kept, of all captures that it went through; ``tensors`` are those of the present one."""
    for row in collector.weights.rows:
        record = tensors[row.tensor] if 0 <= row.tensor < len(tensors) else None
        if record is not None:
            row.name = record.names[0] if record.names else record.variable or row.name
    memory, scales = collector.memory, collector.scales
    models = Counter({row.model for row in collector.activations.rows})
    return Vitals(
        tuple(collector.kept.numbers),
        collector.kept.seen,
        tuple(_parameters(collector)),
        tuple(_modules(collector, several=len(models) > 1)),
        MemoryVitals(
            tuple(memory.parameters),
            tuple(memory.gradients),
            tuple(memory.state),
            tuple(collector.saved.get(step) for step in collector.kept.numbers),
            tuple(memory.peak),
            tuple(place.what for place in memory.places),
            tuple(place.site for place in memory.places),
        ),
        LossScale(tuple(scales.kept.numbers), tuple(scales.values), scales.skipped),
    )


def _parameters(collector: Collector) -> list[ParameterVitals]:
    weights = collector.weights
    found = []
    for number, row in enumerate(weights.rows):
        gradient, entry, zeros, weight, update, cosine = weights.table.figures(number)
        found.append(
            ParameterVitals(
                name=row.name,
                tensor=row.tensor,
                numel=row.numel,
                gradient=gradient,
                entry=entry,
                zeros=zeros,
                weight=weight,
                update=update,
                cosine=cosine,
                nonfinite=row.nonfinite,
                first_nonfinite=row.first_nonfinite,
                part=row.part,
                held=row.held,
            )
        )
    return found


def _modules(collector: Collector, *, several: bool) -> list[ModuleVitals]:
    activations = collector.activations
    found = []
    for number, row in enumerate(activations.rows):
        mean, deviation, zeros, saturated, dead = activations.table.figures(number)
        found.append(
            ModuleVitals(
                path=".".join(filter(None, (row.model if several else "", row.path))),
                op=f"{row.op} #{row.nth + 1}" if row.nth else row.op,
                type=row.type,
                site=row.site,
                mean=mean,
                deviation=deviation,
                zeros=zeros,
                saturated=saturated,
                dead=dead,
                units=row.units,
                never=activations.never(number),
            )
        )
    return found
