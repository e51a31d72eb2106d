"""Models that ``copy.copy`` made: they have the very parameters of the model that they are copies of."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import ModelsShared

_FEWEST = 3
"""A model and one copy may be two ways to compute with the same parameters."""


class TrainedTogether(Struct, frozen=True):
    """The copies that one line made share the parameters of a model, and several ``optimizers`` train them."""

    copies: ModelsShared
    optimizers: tuple[OptimizerRecord, ...]


def trained_together(analysis: Analysis) -> Iterator[TrainedTogether]:
    """Each line once. One optimizer may train a model through copies of it that compute in other ways."""
    optimizers = analysis.capture.placement.optimizers
    for event in analysis.capture.events_of(ModelsShared):
        if event.copied and event.count >= _FEWEST:
            shared = set(event.tensors)
            stepping = tuple(o for o in optimizers if o.steps and not shared.isdisjoint(o.held))
            if len(stepping) > 1:
                yield TrainedTogether(event, stepping)
