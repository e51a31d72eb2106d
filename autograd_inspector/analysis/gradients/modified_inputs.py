"""What the forward of a custom Function writes to its inputs."""

from __future__ import annotations

from itertools import takewhile

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.tensor import TensorRecord


def edits_of_inputs(analysis: Analysis, function: Op) -> list[Op]:
    """The ops of its forward that wrote an input with a history which it did not return as its result."""
    memory = {record.storage for record in tracked_inputs(analysis, function)} - {-1}
    ops, before = analysis.capture.ops, range(function.index - 1, -1, -1) if memory else ()
    inner = list(takewhile(lambda op: op.has(Trait.INNER), map(ops.__getitem__, before)))
    return [op for op in reversed(inner) if any(write.storage in memory for write in op.writes)]


def tracked_inputs(analysis: Analysis, function: Op) -> list[TensorRecord]:
    """The inputs that have a history and that it did not return: marked as dirty, its result is the input itself."""
    records = [analysis.capture.tensors[tensor] for tensor in function.inputs if tensor not in function.outputs]
    return [record for record in records if record.requires_grad and not record.leaf]


def is_users(analysis: Analysis, function: Op) -> bool:
    """Whether the program defines it: a library's may run the program's code inside, and is not to be repaired here."""
    place = analysis.capture.place(analysis.capture.function_sites.get(function.name.removesuffix(".apply"), -1))
    return place is not None and not place.library
