"""State that an optimizer keeps in a shape of its own: of a projected gradient, of one number a row.

torch's optimizers make theirs like the parameter. Of another class nobody knows it, but what its own step made, or went
through with although the two do not broadcast, is what it computes with.
"""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.state_lines import is_assigned
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow, StateEntry


def keeps_own_shape(analysis: Analysis, optimizer: OptimizerRecord, row: ParameterRow, entry: StateEntry) -> bool:
    """Whether the state, which is shaped unlike the parameter, is as the optimizer's own step wants it."""
    if optimizer.module.startswith("torch.optim"):
        return False
    loads = analysis.timeline.loads_of(optimizer.id).all
    made = analysis.flow.birth(entry.tensor) if entry.tensor >= 0 else None
    by_step = made is None or made.has(Trait.STEP)
    if by_step and optimizer.created_at >= 0 and optimizer.steps and not loads:
        return not is_assigned(analysis, optimizer)
    since = max([*(load.at for load in loads), 0 if made is None else made.index])
    return not _broadcast(entry.shape, row.shape) and any(
        not step.error and any(p.tensor == row.tensor and p.gradient >= 0 for p in step.parameters)
        for step in analysis.timeline.steps_of(optimizer.id).since(since)
    )


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether an elementwise op takes both."""
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(one), reversed(other), strict=False))
