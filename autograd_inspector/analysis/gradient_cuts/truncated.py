"""Values that lose their history when a backward has gone through it: the next round reads them as numbers."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import GradientCut
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.graphs import RunGraphs
from autograd_inspector.model.op import Op


def is_truncated(runs: RunGraphs, flow: DataFlow, cut: GradientCut) -> bool:
    """Whether each of the cut values had given its gradient to a backward that ended before the cut."""
    return all(_was_differentiated(runs, flow, op) for op in cut.ops)


def _was_differentiated(runs: RunGraphs, flow: DataFlow, op: Op) -> bool:
    # A gradient without a graph is cut as well, and was computed by a run of its own.
    if not (is_a(op.name, OpKind.DETACHES) and is_a(op.name, OpKind.VIEWS)):
        return False
    births = [birth for tensor in op.inputs if (birth := flow.birth(tensor)) is not None]
    first = [runs.first_through.get(birth.index) for birth in births]
    return any(first) and all(run is None or run.end <= op.index for run in first)
