"""Module calls that used a parameter and of which autograd recorded nothing."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.unrecorded import unrecorded
from autograd_inspector.model.location import Location


def readings(analysis: Analysis, tensors: Iterable[int]) -> tuple[Location, ...]:
    """Where these were first used like that, and where they were made to require grad."""
    mine = list(tensors)
    op = next((op for tensor in mine for op in unrecorded(analysis, tensor)), None)
    thawed = analysis.lifecycle.unfrozen(mine)
    return analysis.places(*((change, "requires grad from here on") for change in thawed[-1:]), (op, "used here"))
