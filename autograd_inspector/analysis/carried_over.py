"""Which tensor leads from a later round back into the graph of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.dataflow import DataFlow
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait


def carried_over(capture: Capture, flow: DataFlow, run: Backward, last: Backward) -> tuple[Op, int] | None:
    """(the op that read it, the tensor): made before an earlier backward was over, with its graph, and read after it."""
    return next(all_carried_over(capture, flow, run, last), None)


def all_carried_over(capture: Capture, flow: DataFlow, run: Backward, last: Backward) -> Iterator[tuple[Op, int]]:
    """Each reading of such a tensor, the one that is nearest to the loss first."""
    starts = [(root, run.start) for root in run.roots]
    for op, _ in flow.upstream(starts, lambda o, t: o.index >= last.end):
        if op.index < last.end:
            continue
        for tensor in op.inputs:
            record = capture.tensors[tensor]
            made = flow.birth(tensor)
            if made is None or made.index >= last.end or not record.requires_grad:
                continue
            if not record.leaf or given_graph(capture, flow, tensor, last.end) is not None:
                yield op, tensor


def given_graph(capture: Capture, flow: DataFlow, tensor: int, before: int) -> Op | None:
    """The write in place that gave a graph to a tensor that was made without one, the last one before an op."""
    made = flow.birth(tensor)
    if made is None or made.recorded or capture.tensors[tensor].kind == "parameter":
        return None
    writers = (capture.ops[index] for index in flow.producers(tensor, before))
    return next((op for op in writers if op.recorded and any(w.tensor == tensor for w in op.writes)), None)


def written_over(capture: Capture, flow: DataFlow, run: Backward, last: Backward) -> tuple[Op, int, Op, int] | None:
    """(the op that read it, the tensor, the op that wrote it, the value written): a graph that memory carries.

    The tensor itself is made once for all rounds, as a bank of features or a running mean is. An op of an earlier round
    wrote a value with its history into it, and an op after that round's backward reads it.
    """
    starts = [(root, run.start) for root in run.roots]
    for op, _ in flow.upstream(starts, lambda o, t: o.index >= last.end):
        if op.index < last.end:
            continue
        for tensor in op.inputs:
            for index in flow.producers(tensor, op.index):
                write = capture.ops[index]
                value = _value_with_history(capture, flow, write, tensor) if write.index < last.end else None
                if value is not None:
                    return op, tensor, write, value
    return None


def _value_with_history(capture: Capture, flow: DataFlow, write: Op, tensor: int) -> int | None:
    """What an op of autograd's wrote into the memory of a tensor: an operand that had a history of its own."""
    storage = capture.tensors[tensor].storage
    if not write.recorded or write.has(Trait.STEP) or all(each.storage != storage for each in write.writes):
        return None
    for value in write.inputs:
        record, made = capture.tensors[value], flow.birth(value)
        if record.storage != storage and record.requires_grad and made is not None and made.recorded:
            return value
    return None
