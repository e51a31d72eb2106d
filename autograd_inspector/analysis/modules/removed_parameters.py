"""Parameters that an optimizer stepped, and that no model has any more."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.parameters.unoptimized import copied_from, memory_of
from autograd_inspector.model.op import Trait
from autograd_inspector.model.placement_rows import OptimizerRecord


def is_gone(analysis: Analysis, optimizer: OptimizerRecord, tensor: int) -> bool:
    """Whether the optimizer stepped after a model had lost the parameter, to which no backward came any more."""
    lost = analysis.lifecycle.taken_out(tensor)
    if lost is None or not any(s.optimizer == optimizer.id and s.at >= lost.at for s in analysis.capture.steps):
        return False
    assignments = (write for write in analysis.capture.grad_writes if write.tensor == tensor and write.gradient >= 0)
    reached = any(run.start >= lost.at and tensor in run.reached for run in analysis.capture.backwards)
    return not reached and not any(write.at >= lost.at for write in assignments)


def were_merged(analysis: Analysis, gone: Collection[int]) -> bool:
    """Whether the program put their values into a parameter that a model still has."""
    capture = analysis.capture
    left, memory = memory_of(capture, capture.owners), memory_of(capture, gone)
    return any(
        any(write.storage in left for write in op.writes) and copied_from(capture, op, memory, analysis.flow)
        for op in capture.ops
        if op.writes and not op.has(Trait.STEP | Trait.BACKWARD)
    )


def left_in_models(analysis: Analysis, gone: list[int]) -> list[int]:
    """What the models that lost them have now."""
    models = {lost.model for t in gone if (lost := analysis.lifecycle.taken_out(t)) is not None}
    return [t for t, owner in analysis.capture.owners.items() if owner in models]
