"""Targets made as data, into which values with a graph are written: an IoU of the predicted boxes, in a map of zeros.

Such a target is a number that the prediction is to follow. With its graph backward moves what it was computed from, too.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradient_cuts.leaves_above import Leaves
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import differentiated
from autograd_inspector.model.op import Op, Trait


class WrittenTarget(Struct, frozen=True):
    """``compared`` takes ``target``, which was data until ``written`` wrote ``value`` into it.

    ``parameters`` compute the prediction and that value.
    """

    compared: Op
    target: int
    written: Op
    value: int
    parameters: tuple[int, ...]


def written_targets(analysis: Analysis) -> Iterator[WrittenTarget]:
    """Of what the losses were computed with, each line once.

    Losses that tell their two ends apart: a distance has none that is a target.
    """
    capture, leaves = analysis.capture, Leaves(analysis.capture, analysis.flow)
    told: set[object] = set()
    for op in differentiated(capture, OpKind.TARGETED):
        if (
            is_a(op.name, OpKind.TAKES_LOGS)
            or op.has(Trait.BACKWARD)
            or len(op.inputs) < 2
            or line_of(analysis, op.site) in told
        ):
            continue
        found = _found(analysis, leaves, op)
        if found is not None:
            told.add(line_of(analysis, op.site))
            yield found


def _found(analysis: Analysis, leaves: Leaves, op: Op) -> WrittenTarget | None:
    tensors = analysis.capture.tensors
    prediction, target = op.inputs[:2]
    made = analysis.flow.birth(target)
    if not (tensors[prediction].requires_grad and tensors[target].requires_grad) or made is None or made.recorded:
        return None
    learning = analysis.optimized_trainable
    predicting = learning.intersection(leaves.of(prediction, op.index))
    for written, _ in analysis.writes_to(tensors[target].storage, target, made.index, op.index):
        for value in (tensor for tensor in written.inputs if tensor != target and tensors[tensor].requires_grad):
            both = predicting.intersection(leaves.of(value, written.index))
            if both:
                return WrittenTarget(op, target, written, value, tuple(sorted(both)))
    return None
