"""Which tensor leads from a later round back into the graph of an earlier one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

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


class GivenGraph(Struct, frozen=True):
    """``write`` wrote into memory in place and was recorded, ``value`` into it with a history of its own (-1: none had)."""

    write: Op
    value: int


def graphs_given(capture: Capture, flow: DataFlow, tensor: int, before: int) -> Iterator[GivenGraph]:
    """Which writes gave the memory of a tensor a graph, of those that lie behind it as an op reads it; the last first."""
    storage = capture.tensors[tensor].storage
    for index in flow.producers(tensor, before):
        write = capture.ops[index]
        into = any(w.tensor == tensor or (w.storage == storage and storage >= 0) for w in write.writes)
        if into and write.recorded and not write.has(Trait.STEP):
            yield GivenGraph(write, _value_with_history(capture, flow, write, storage))


def given_graph(capture: Capture, flow: DataFlow, tensor: int, before: int) -> Op | None:
    """The last write that gave a graph to a tensor which was made without one."""
    made = flow.birth(tensor)
    if made is None or made.recorded or capture.tensors[tensor].kind == "parameter":
        return None
    given = (each.write for each in graphs_given(capture, flow, tensor, before))
    return next((write for write in given if any(w.tensor == tensor for w in write.writes)), None)


def written_over(capture: Capture, flow: DataFlow, run: Backward, last: Backward) -> tuple[Op, int, GivenGraph] | None:
    """(the op that read it, the tensor, what was written): a graph that memory carries.

    The tensor itself is made once for all rounds, as a bank of features or a running mean is. An op of an earlier round
    wrote a value with its history into it, and an op after that round's backward reads it.
    """
    starts = [(root, run.start) for root in run.roots]
    for op, _ in flow.upstream(starts, lambda o, t: o.index >= last.end):
        for tensor in op.inputs if op.index >= last.end else ():
            for given in graphs_given(capture, flow, tensor, op.index):
                if given.write.index < last.end and given.value >= 0:
                    return op, tensor, given
    return None


def _value_with_history(capture: Capture, flow: DataFlow, write: Op, storage: int) -> int:
    """What an op wrote into that memory: an operand that had a history of its own; -1 for none."""
    for value in write.inputs:
        record, made = capture.tensors[value], flow.birth(value)
        if record.storage != storage and record.requires_grad and made is not None and made.recorded:
            return value
    return -1
