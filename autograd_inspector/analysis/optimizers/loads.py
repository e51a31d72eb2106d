"""Calls of ``optimizer.load_state_dict``."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.torch_errors import TorchError, says


def is_refusal(text: str) -> bool:
    """Whether load_state_dict refused a checkpoint because its groups are other ones."""
    return says(text, TorchError.OTHER_GROUPS_LOADED) is not None


def loads_of(analysis: Analysis, optimizer: OptimizerRecord) -> tuple[Location, ...]:
    """Where state was loaded into the optimizer."""
    return tuple(
        place
        for c in analysis.timeline.loads_of(optimizer.id).all
        for place in analysis.user_frames(c.site, "state loaded here")
    )
