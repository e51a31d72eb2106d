"""Calls of ``optimizer.load_state_dict``."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement_rows import OptimizerRecord

_SIZE_ERRORS = ("doesn't match the size of optimizer's group", "different number of parameter groups")


def is_refusal(text: str) -> bool:
    """Whether load_state_dict refused a checkpoint because its groups are other ones."""
    return any(error in text for error in _SIZE_ERRORS)


def loads_of(analysis: Analysis, optimizer: OptimizerRecord) -> tuple[Location, ...]:
    """Where state was loaded into the optimizer."""
    return tuple(
        place
        for c in analysis.timeline.loads_of(optimizer.id).all
        for place in analysis.user_frames(c.site, "state loaded here")
    )
