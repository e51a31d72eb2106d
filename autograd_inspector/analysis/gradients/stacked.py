"""Which of the tensors that were stacked, or put one behind the other, a view of the result shows."""

from __future__ import annotations

from itertools import accumulate

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op

_JOINS = OpKind.STACKS | OpKind.CONCATENATES


def entries_of(analysis: Analysis, view: int, before: int) -> list[tuple[int, int]] | None:
    """(tensor, op that joined it to others) of those whose bytes the view covers, as op ``before`` would read it.

    None where the tensor is no view of a part of such a result, or it is not known which part belongs to which.
    """
    joined, tensor = _joined(analysis, view, before), view
    while joined is None:
        producers = analysis.flow.producers(tensor, before)
        made = analysis.capture.ops[producers[0]] if len(producers) == 1 else None
        if made is None or not is_a(made.name, OpKind.VIEWS) or not made.inputs:
            return None
        tensor, before = made.inputs[0], made.index
        joined = _joined(analysis, tensor, before)
    return None if tensor == view else _covered(analysis, joined, view)


def _joined(analysis: Analysis, tensor: int, before: int) -> Op | None:
    producers = analysis.flow.producers(tensor, before)
    made = analysis.capture.ops[producers[0]] if len(producers) == 1 else None
    return made if made is not None and is_a(made.name, _JOINS) and made.outputs == (tensor,) else None


def _covered(analysis: Analysis, joined: Op, view: int) -> list[tuple[int, int]] | None:
    records = analysis.capture.tensors
    whole, shown = records[joined.outputs[0]], records[view]
    parts = [records[tensor] for tensor in joined.inputs]
    row = whole.shape[1:]
    first_axis = all(part.shape == row if is_a(joined.name, OpKind.STACKS) else part.shape[1:] == row for part in parts)
    ends = [*accumulate((part.nbytes for part in parts), initial=whole.offset)]
    dense = whole.extent == whole.nbytes == ends[-1] - whole.offset
    if not first_axis or not dense or shown.storage != whole.storage or shown.extent >= whole.extent:
        return None
    start, end = shown.offset, shown.offset + shown.extent
    spans = zip(joined.inputs, ends, ends[1:], strict=False)
    return [(tensor, joined.index) for tensor, begin, stop in spans if begin < end and start < stop]
