"""Copies of a tensor onto itself, in rounds: what was to follow another tensor is that tensor."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait


class SelfCopy(Struct, frozen=True):
    """``op`` copied each of ``tensors`` onto itself, as an op of the same line had before ``step`` changed them."""

    op: Op
    tensors: tuple[int, ...]
    step: Op


def self_copies(analysis: Analysis) -> Iterator[SelfCopy]:
    """One record for each line that copies."""
    found: dict[object, tuple[SelfCopy, dict[int, None]]] = {}
    first: dict[tuple[object, int], int] = {}
    tensors = analysis.capture.tensors
    for op in analysis.capture.ops:
        if not is_a(op.name, OpKind.COPIES_INTO) or op.has(Trait.STEP | Trait.BACKWARD) or len(op.inputs) != 2:
            continue
        target, source = (tensors[tensor] for tensor in op.inputs)
        same = (target.offset, target.shape, target.extent) == (source.offset, source.shape, source.extent)
        if not op.writes or target.storage < 0 or target.storage != source.storage or not same:
            continue
        line = line_of(analysis, op.site)
        step = _stepped(analysis, target.storage, first.setdefault((line, target.storage), op.index), op.index)
        if step is not None:
            found.setdefault(line, (SelfCopy(op, (), step), {}))[1][target.id] = None
    for copy, copied in found.values():
        yield SelfCopy(copy.op, tuple(copied), copy.step)


def _stepped(analysis: Analysis, storage: int, start: int, end: int) -> Op | None:
    """The last step of an optimizer that moved what lies in a memory."""
    latest = (op for op, _ in analysis.writes_back(storage, start, end) if op.has(Trait.STEP)) if end > start else ()
    return next(iter(latest), None)
