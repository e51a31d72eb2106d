"""Buffers that estimate something of all data: each new value is computed from the one before.

What a rank puts into a queue, a memory or the state of its own stream is its data, and differs as its batches do. A
running mean, a centre or a codebook goes on from its old values: these stand for the data of all ranks. What is written
entry by entry is a table of samples, such as a memory bank, of which a rank has its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ops_of import writing
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_ARRANGES = OpKind.CONCATENATES | OpKind.STACKS | OpKind.TAKES_NO_VALUES | OpKind.TAKES_SHAPE_ONLY
"""They put values next to each other, and compute none."""
_HANDS_ON = OpKind.VIEWS | OpKind.COPIES | OpKind.CONVERTS | OpKind.DETACHES | OpKind.COPIES_INTO


def running_statistics(capture: Capture, same: Mapping[str, Iterable[int]]) -> set[str]:
    """Of named buffers, each with the tensors that it was one after the other, those that go on from what they were.

    Also those of which no op of the capture tells how they came about.
    """
    writers: dict[int, list[Op]] = {}
    for op in writing(capture):
        for write in op.writes:
            writers.setdefault(write.storage, []).append(op)
    return {name for name, tensors in same.items() if _goes_on(capture, set(tensors), writers)}


def _goes_on(capture: Capture, tensors: set[int], writers: Mapping[int, list[Op]]) -> bool:
    memory = {capture.tensors[tensor].storage for tensor in tensors} - {-1}
    births = (capture.tensors[tensor].birth for tensor in tensors)
    makers = [op for storage in memory for op in writers.get(storage, ())]
    makers += [capture.ops[birth] for birth in births if birth >= 0]
    size = max((prod(capture.tensors[tensor].shape) for tensor in tensors), default=0)
    if any(writes_entries(capture, op, size) for op in makers):
        return False
    return not makers or any(_computed_from(capture, op, memory, tensors) for op in makers)


def _computed_from(capture: Capture, maker: Op, memory: set[int], tensors: set[int]) -> bool:
    """Whether an op computes new values out of a buffer's own; not what a model made of them, which is its state."""
    todo, seen = [(maker, False)], set[tuple[int, bool]]()
    while todo:
        op, computed = todo.pop()
        if (op.index, computed) in seen or op.recorded or is_a(op.name, _ARRANGES):
            continue
        seen.add((op.index, computed))
        into = {write.tensor for write in op.writes} if is_a(op.name, OpKind.COPIES_INTO) else set[int]()
        computed = computed or not is_a(op.name, _HANDS_ON) or op.has(Trait.COLLECTIVE)
        for tensor in op.inputs:
            if tensor in into:
                continue  # It is overwritten.
            if computed and (tensor in tensors or capture.tensors[tensor].storage in memory):
                return True
            birth = capture.tensors[tensor].birth
            if 0 <= birth < op.index:
                todo.append((capture.ops[birth], computed))
    return False


def writes_entries(capture: Capture, maker: Op, size: int) -> bool:
    """Whether an op puts values into some entries of a buffer of ``size``, and leaves the others as they are."""
    written = {write.tensor for write in maker.writes}
    given = [tensor for tensor in maker.inputs if tensor not in written]
    if not given or not is_a(maker.name, OpKind.COPIES_INTO | OpKind.SETS_NUMBER):
        return False
    return min(prod(capture.tensors[tensor].shape) for tensor in (given[-1], *written)) < size
