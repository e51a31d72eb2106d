"""Buffers that lie in the memory of a parameter: the one is not to be written without the other."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.memory.one_memory import OneMemory
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait

_ASIDE = Trait.STEP | Trait.BACKWARD | Trait.COLLECTIVE


class BufferInParameter(Struct, frozen=True):
    """``taken`` made the buffer of the parameter, ``edit`` wrote a value through the buffer, and ``step`` the parameter."""

    buffer: int
    parameter: int
    taken: Op
    edit: Op
    step: Op


def buffers_in_parameters(analysis: Analysis) -> Iterator[BufferInParameter]:
    """Those that the program gives values of their own, while an optimizer steps the parameter.

    A buffer that is only read may be meant to show the parameter, whatever that is by then.
    """
    tensors, memory = analysis.capture.tensors, OneMemory(analysis.capture)
    trained = [tensors[tensor] for tensor in analysis.optimized_trainable]
    by_storage = {record.storage: record for record in trained if record.storage >= 0}
    for record in tensors:
        owner = by_storage.get(record.storage) if record.kind == "buffer" else None
        taken = analysis.flow.birth(record.id) if owner is not None and owner.overlaps(record) else None
        if owner is None or taken is None or not is_a(taken.name, OpKind.ALIASES):
            continue
        edit = next(_edits(analysis, record.id, taken), None)
        step = next((at for at in memory.steps_of(owner.id, taken.index)), None)
        if edit is not None and step is not None:
            yield BufferInParameter(record.id, owner.id, taken, edit, analysis.capture.ops[step])


def _edits(analysis: Analysis, buffer: int, taken: Op) -> Iterator[Op]:
    """The program's own ops that write to the buffer, or to a view of it."""
    storage = analysis.capture.tensors[buffer].storage
    for op, write in analysis.writes_in(storage, taken.index + 1, len(analysis.capture.ops)):
        if not op.has(_ASIDE) and op.inputs[:1] == (write.tensor,) and _shows(analysis, write.tensor, buffer):
            yield op


def _shows(analysis: Analysis, tensor: int, buffer: int) -> bool:
    """Whether a tensor is the buffer, or was taken of it."""
    tensors, ops = analysis.capture.tensors, analysis.capture.ops
    while tensor > buffer and tensors[tensor].birth >= 0:
        made = ops[tensors[tensor].birth]
        if not made.inputs or not is_a(made.name, OpKind.VIEWS):
            return False
        tensor = made.inputs[0]
    return tensor == buffer
