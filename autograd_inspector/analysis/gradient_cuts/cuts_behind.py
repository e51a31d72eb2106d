"""The cuts behind a loss, each with the leaves that it keeps gradient from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.analysis.gradient_cuts.classifier import Cut, is_cut, is_origin, learning
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def cuts_behind(
    capture: Capture,
    flow: DataFlow,
    starts: Sequence[tuple[int, int]],
    through: Callable[[Op, int], bool] | None = None,
    ends: Callable[[int], bool] | None = None,
) -> Iterator[tuple[Cut, tuple[int, ...], tuple[int, ...]]]:
    """(cut, the leaves above that it keeps gradient from, all leaves above) for the cuts behind (tensor, op index) pairs.

    A cut that leads to the loss only by what it helped to write into leaves (``w.data.div_(w.data.norm())``) keeps no
    gradient from a leaf that the loss reads itself: whoever reads the leaf reads what was written, and its gradient
    is its own. ``ends``: what gave such a tensor its value is not asked for.
    """
    leaves = Leaves(capture, flow)
    read: set[int] = set()
    direct: set[tuple[int, int]] = set()
    for op, tensor in flow.upstream(starts, through, lambda t: is_origin(capture, t)):
        direct.add((op.index, tensor))
        if not is_a(op.name, OpKind.TAKES_SHAPE_ONLY):
            read.update(learning(capture, op))
    for op, tensor in flow.upstream(starts, through, ends):
        if is_cut(capture, op, tensor):
            above = leaves.above(op)
            kept = above if (op.index, tensor) in direct else tuple(leaf for leaf in above if leaf not in read)
            yield (op, tensor), kept, above
