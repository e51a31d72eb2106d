"""Which tensor leads from a later round back into the graph of an earlier one."""

from __future__ import annotations

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def carried_over(capture: Capture, flow: DataFlow, run: Backward, last: Backward) -> tuple[Op, int] | None:
    """(the op that read it, the tensor): made before an earlier backward was over, with its graph, and read after it."""
    starts = [(root, run.start) for root in run.roots]
    for op, _ in flow.upstream(starts, lambda o, t: o.index >= last.end):
        if op.index < last.end:
            continue
        for tensor in op.inputs:
            record = capture.tensors[tensor]
            made = flow.birth(tensor)
            if made is not None and made.index < last.end and record.requires_grad and not record.leaf:
                return op, tensor
    return None
