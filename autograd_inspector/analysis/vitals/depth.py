"""Whether the gradient shrinks or grows from layer to layer."""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op
from autograd_inspector.model.vitals import ParameterVitals

FEWEST = 5
"""Layers: of fewer no trend is told from chance."""
_ALONG = 0.8
"""Share of the layers that have to go along."""
_EACH = math.log10(1.5)
"""And by how much the one in the middle does."""
FACTOR = 1e4
"""Glorot and Bengio 2010 (figure 7) see a factor of about 10 over four layers of tanh, which still train."""


class Layer(NamedTuple):
    """A weight of at least two dimensions, and the first op that reads it."""

    vitals: ParameterVitals
    op: Op


class Trend(NamedTuple):
    """The layers in the order of the forward, and the kept step in which they show the trend first.

    ``rates``: gradient norm over weight norm of each. ``steps``: the share of the steps that show it.
    """

    layers: tuple[Layer, ...]
    step: int
    rates: tuple[float, ...]
    steps: float

    @property
    def factor(self) -> float:
        """How many times the larger end is the smaller one."""
        ends = self.rates[0], self.rates[-1]
        return max(ends) / min(ends)

    @property
    def vanishes(self) -> bool:
        """Whether it shrinks on the way back to the first layer."""
        return self.rates[0] < self.rates[-1]


def trend_of(capture: Capture) -> Trend | None:
    """The trend in the first step that was kept, and in a quarter of all; None where there is none."""
    vitals, layers = capture.vitals, layers_of(capture)
    if len(layers) < FEWEST or not vitals.steps:
        return None
    found = [(place, rates) for place in range(len(vitals.steps)) if (rates := _rates(layers, place)) and _falls(rates)]
    if not found or found[0][0] or 4 * len(found) < len(vitals.steps):
        return None
    return Trend(layers, vitals.steps[0], found[0][1], len(found) / len(vitals.steps))


def layers_of(capture: Capture) -> tuple[Layer, ...]:
    """The weights with at least two dimensions, in the order in which the forward reads them first."""
    measured = {row.tensor: row for row in capture.vitals.parameters if row.tensor >= 0}
    weights = {tensor: row for tensor, row in measured.items() if len(capture.tensors[tensor].shape) > 1}
    readers: dict[int, Op] = {}
    for op in capture.ops:
        if op.recorded:
            for tensor in op.inputs:
                if tensor in weights:
                    readers.setdefault(tensor, op)
    return tuple(Layer(weights[tensor], op) for tensor, op in readers.items())


def _rates(layers: tuple[Layer, ...], place: int) -> tuple[float, ...]:
    """() where one was not measured, is zero or not finite: other rules tell of these."""
    rates = []
    for layer in layers:
        figures = layer.vitals.gradient.values, layer.vitals.weight.values
        gradient, weight = (values[place] if values else None for values in figures)
        if not gradient or not weight or not math.isfinite(gradient) or not math.isfinite(weight):
            return ()
        rates.append(gradient / weight)
    return tuple(rates)


def _falls(rates: tuple[float, ...]) -> bool:
    """Whether it goes one way, nearly from each layer to the next, and far."""
    changes = [math.log10(after / before) for before, after in pairwise(rates)]
    whole = math.log10(rates[-1] / rates[0])
    way = math.copysign(1.0, whole)
    along = [way * change for change in changes]
    enough = sum(change > 0 for change in along) >= _ALONG * len(along) and median(along) >= _EACH
    return enough and abs(whole) >= math.log10(FACTOR)
