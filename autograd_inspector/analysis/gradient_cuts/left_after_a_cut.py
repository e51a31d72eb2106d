"""What a backward would still reach if something that its roots are computed from were cut off."""

from __future__ import annotations

from collections.abc import Collection

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture


def left_after_a_cut(capture: Capture, flow: DataFlow, run: Backward, cut: Collection[int]) -> frozenset[int]:
    """The leaves that require grad and that the roots lead to by other ways than through these tensors."""
    tensors, leaves = capture.tensors, set[int]()
    starts = [(root, run.start) for root in run.roots if root not in cut]
    for op, through in flow.upstream(starts, lambda _, t: tensors[t].requires_grad, cut.__contains__):
        if tensors[through].requires_grad:
            leaves.update(t for t in op.inputs if t not in cut and tensors[t].leaf and tensors[t].requires_grad)
    return frozenset(leaves)
