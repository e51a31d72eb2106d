"""Which leaves the values of a loss come from, whether gradient flows back to them or not."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def leading(capture: Capture, flow: DataFlow, runs: Iterable[Backward], since: int) -> frozenset[int]:
    """Tensors that ops after ``since`` computed the roots of those backwards from, cuts or not.

    What a leaf that gets gradient was once made of does not count: it stands for itself. What the program writes into
    it again and again does. A view shows what its memory has now, whenever it was taken or assigned to a ``.data``.
    """
    all_runs = list(runs)
    reached = {tensor for run in all_runs for tensor in run.reached}

    def through(op: Op, tensor: int) -> bool:
        shown = op.index > since or is_a(op.name, OpKind.VIEWS) or op.name == "set_data"
        return shown and (tensor not in reached or _writes(capture, op, tensor))

    starts = [(root, run.start) for run in all_runs for root in run.roots]
    return frozenset(t for op, at in flow.upstream(starts, through) if through(op, at) for t in op.inputs)


def _writes(capture: Capture, op: Op, tensor: int) -> bool:
    storage = capture.tensors[tensor].storage
    return any(write.tensor == tensor or write.storage == storage >= 0 for write in op.writes)
