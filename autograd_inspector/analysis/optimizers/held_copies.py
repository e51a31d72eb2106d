"""Optimizers that hold copies of the parameters that are trained."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.placement_rows import OptimizerRecord


def holds_copies(analysis: Analysis, optimizer: OptimizerRecord, parameters: Iterable[int]) -> bool:
    """Whether for each of these it holds a parameter that was copied from it, and that no backward reached."""
    tensors = analysis.capture.tensors
    idle = {tensors[t].storage for t in optimizer.held if t not in analysis.received_gradient} - {-1}
    copied = {
        tensors[op.inputs[0]].storage
        for op in (analysis.capture.ops if idle else ())
        if is_a(op.name, OpKind.COPIES) and op.inputs and any(tensors[t].storage in idle for t in op.outputs)
    }
    return bool(copied) and {tensors[t].storage for t in parameters} <= copied
