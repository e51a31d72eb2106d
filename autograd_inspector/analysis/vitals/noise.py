"""Weights whose gradient is all noise while that of the layers around them is not.

Of two steps with independent batches of size B the gradients are G + e1 and G + e2, with noise of variance tr(S) / B: the
expected cosine between them is 1 / (1 + b / B), where b = tr(S) / |G|² is the simple noise scale of McCandlish, Kaplan
and Amodei, "An Empirical Model of Large-Batch Training" (2018, equation 2.9), the batch size at which signal and noise
are alike: far below it the noise dominates. So the mean cosine over the steps tells how many batches b is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import fmean, median, stdev
from typing import NamedTuple

from autograd_inspector.analysis.vitals.depth import Layer, layers_of
from autograd_inspector.model.capture import Capture

FEWEST = 32
"""Cosines: of fewer a mean near 0 may be chance."""
_CLEAR = 1 / 2
"""Of the layers around: their noise scale is one batch at most, so that the signal outweighs the noise."""
_NOISE = 1 / 11
"""Of the layer: its noise scale is ten batches at least."""
_AROUND = 2
"""Layers before, and after."""
_SIGMA = 2.0
_OPPOSITE = 0.05
"""A gradient that turns round each time is no noise: the step was too large."""


class Noisy(NamedTuple):
    """The mean cosine over ``steps``, and the median of those of the layers around it."""

    layer: Layer
    cosine: float
    around: float
    steps: int

    @property
    def scale(self) -> float:
        """The noise scale of the layers around, in batches."""
        return 1 / self.around - 1


def noisy_layers(capture: Capture) -> Iterator[Noisy]:
    """In the order of the forward."""
    layers = layers_of(capture)
    means = [_mean(layer) for layer in layers]
    for place, (layer, own) in enumerate(zip(layers, means, strict=True)):
        near = [*means[max(place - _AROUND, 0) : place], *means[place + 1 : place + 1 + _AROUND]]
        others = [mean for mean, _ in filter(None, near)]
        if own is None or len(others) < _AROUND:
            continue
        mean, error = own
        around = median(others)
        noise = -_SIGMA * error - _OPPOSITE <= mean <= _NOISE - _SIGMA * error
        if around >= _CLEAR and noise:
            yield Noisy(layer, mean, around, len(layer.vitals.cosine.measured))


def _mean(layer: Layer) -> tuple[float, float] | None:
    """With its standard error."""
    cosines = layer.vitals.cosine.measured
    return (fmean(cosines), stdev(cosines) / math.sqrt(len(cosines))) if len(cosines) >= FEWEST else None
