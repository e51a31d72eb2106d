"""Which data the loss of a backward was computed from."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward


def data_of(analysis: Analysis, run: Backward) -> frozenset[int]:
    """What the ops of a run's graph were given and did not make: inputs and targets, as they were before the forward.

    Parameters, buffers, and what forward makes for itself (positions, masks) are none.
    """
    ops, tensors = analysis.capture.ops, analysis.capture.tensors
    made = sorted({node.op for node in analysis.nodes_of(run) if node.op >= 0})
    given = {tensor for index in made for tensor in ops[index].inputs}
    return frozenset(
        tensor
        for tensor in given
        if not tensors[tensor].of_model and not tensors[tensor].requires_grad and tensors[tensor].birth < made[0]
    )


def same_batch(analysis: Analysis, one: Backward, other: Backward, start: int, end: int) -> bool:
    """Whether two losses were computed from the same data, as far as these were used from ``start`` to ``end`` alone.

    What other rounds read as well (a mask, weights of classes) tells nothing; where they read it all, the two have to
    have all of it in common.
    """
    first, second = data_of(analysis, one), data_of(analysis, other)
    readers = analysis.capture.readers
    fresh = {t for t in first if t in readers and start < readers[t][0] and readers[t][-1] <= end}
    return fresh <= second if fresh else bool(first) and first == second
