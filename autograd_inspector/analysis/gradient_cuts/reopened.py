"""Whether a graph that is cut off today could be gone through once, but not as often as the program would ask."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import is_cut
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def freed_too_early(capture: Capture, flow: DataFlow, ops: Iterable[Op]) -> bool:
    """Whether a backward would go through what one of the ops records after another one had freed it.

    Then what is cut there has to be cut in one of the two.
    """
    opened = {op.index for op in ops}
    freed: set[int] = set()

    def goes_on(op: Op, tensor: int) -> bool:
        if is_a(op.name, OpKind.KEEPS_STATISTICS) and tensor not in op.outputs:
            return False  # No graph is behind running statistics.
        return op.index in opened or not is_cut(capture, op, tensor)

    for run in capture.completed_runs:
        if run.nested_in >= 0 or run.end <= min(opened):
            continue
        above = flow.upstream([(root, run.start) for root in run.roots], goes_on)
        through = {op.index for op, _ in above if op.index in opened}
        if through & freed:
            return True
        if not run.retain_graph:
            freed |= through
    return False
