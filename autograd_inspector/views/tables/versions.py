"""What ops read and return, with version counters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op


def inputs_of(ops: Iterable[Op]) -> Iterator[tuple[int, int]]:
    """(tensor, its version before the op), -1 where it has none."""
    for op in ops:
        versions = iter(op.versions)
        for tensor in op.inputs:
            yield tensor, next(versions, -1)


def outputs_of(capture: Capture) -> Iterator[tuple[int, int]]:
    """(tensor, its version after the op), -1 where it is not known.

    Views share a counter with their base; a counter that no op has met before is that of a new tensor, at 0.
    """
    tensors = capture.tensors
    now: dict[int, int] = {}
    for op in capture.ops:
        for tensor, version in zip(op.inputs, op.versions, strict=False):
            now[tensors[tensor].counter] = version
        for write in op.writes:
            now[tensors[write.tensor].counter] = write.after
        for tensor in op.outputs:
            record = tensors[tensor]
            fresh = 0 if record.birth == op.index and not record.inference else -1
            yield tensor, now.setdefault(record.counter, fresh) if record.counter != -1 else -1
