"""What ops read and return, with version counters: two columns, (tensors, versions)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op

Columns = tuple[list[int], list[int]]


def inputs_of(ops: Sequence[Op]) -> Columns:
    """Tensors, and their versions before the op, -1 where they have none."""
    versions: list[int] = []
    for op in ops:
        missing = len(op.inputs) - len(op.versions)
        versions += op.versions if missing >= 0 else op.versions[:missing]
        if missing > 0:
            versions += [-1] * missing
    return list(chain.from_iterable([op.inputs for op in ops])), versions


def outputs_of(capture: Capture) -> Columns:
    """Tensors, and their versions after the op, -1 where they are not known.

    Views share a counter with their base; a counter that no op has met before is that of a new tensor, at 0.
    """
    tensors = capture.tensors
    counters = [tensor.counter for tensor in tensors]
    versions: list[int] = []
    now: dict[int, int] = {}
    for op in capture.ops:
        for tensor, version in zip(op.inputs, op.versions, strict=False):
            now[counters[tensor]] = version
        for write in op.writes:
            now[counters[write.tensor]] = write.after
        for tensor in op.outputs:
            counter = counters[tensor]
            if counter == -1:
                versions.append(-1)
                continue
            if counter not in now:
                record = tensors[tensor]
                now[counter] = 0 if record.birth == op.index and not record.inference else -1
            versions.append(now[counter])
    return list(chain.from_iterable([op.outputs for op in capture.ops])), versions
