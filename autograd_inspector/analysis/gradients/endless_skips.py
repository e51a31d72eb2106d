"""What a GradScaler skips for good, because no scale makes it finite."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.scaled_losses import scaled_by
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward, Node

_INFINITE_SOMEWHERE = OpKind.TAKES_ROOT | OpKind.NORM | OpKind.SPREADS | OpKind.TAKES_LOG | OpKind.ARC | OpKind.POWERS
"""Ops whose derivative is infinite at some finite value."""
_NARROW = "float16"
"""The dtype that a scale is for, and that it overflows: the others reach as far as float32."""
_FEWEST = 2


def is_endless(analysis: Analysis, run: Backward, node: Node) -> bool:
    """Whether a derivative was infinite there in each scaled backward of that line, so that no step was ever taken.

    A scaler that searches for its scale skips as well. What overflows then is a product, or a float16.
    """
    capture = analysis.capture
    op = capture.op_of(node)
    if op is None or not is_a(op.name, _INFINITE_SOMEWHERE) or capture.history.folded:
        return False
    if any(capture.tensors[tensor].dtype == _NARROW for tensor in (*op.inputs, *op.outputs)):
        return False
    runs = [each for each in capture.completed_runs if each.site == run.site and scaled_by(analysis, each) is not None]
    first: dict[int, int] = {}
    for fault in capture.gradient_faults:
        if fault.kind == "nonfinite":
            first.setdefault(fault.backward, capture.nodes[fault.node].op)
    sites = {capture.ops[first[each.index]].site if first.get(each.index, -1) >= 0 else -1 for each in runs}
    stepped = any(analysis.capture.optimized.intersection(run.reached) & step.held for step in capture.steps)
    return len(runs) >= _FEWEST and sites == {op.site} and not stepped
