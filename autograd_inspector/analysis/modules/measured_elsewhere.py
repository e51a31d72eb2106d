"""Running statistics that the program computes anew for a model, while it evaluates an average of that model.

A reset and forwards without gradients are meant for what is evaluated next. Whoever evaluates both, or copies the new
statistics into the average, wants them where they are.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.following import Ends, followed_models, moved_by_steps, named_in
from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.tensor import TensorRecord


class MeasuredElsewhere(Struct, frozen=True):
    """``measured`` begins to compute ``counterparts`` anew, and nothing reads them.

    ``read`` computes with ``tensors``, those of the copy, which other weights left there; ``followed`` wrote the copy.
    """

    ends: Ends
    tensors: tuple[int, ...]
    counterparts: tuple[int, ...]
    measured: Op
    followed: Op
    read: Op


def measured_elsewhere(analysis: Analysis) -> Iterator[MeasuredElsewhere]:
    """One record for each model and its copy, with the last time."""
    capture = analysis.capture
    if not capture.steps or capture.history.folded:
        return
    for ends, ops in followed_models(analysis, moved_by_steps(analysis)).items():
        own = {name: record for record, name in named_in(analysis, *ends[:2]) if record.kind == "buffer"}
        found: list[tuple[TensorRecord, TensorRecord, Op, Op]] = []
        for record, name in named_in(analysis, *ends[2:]):
            other = own.get(name)
            if record.kind == "buffer" and other is not None and other.storage != record.storage:
                found += [(record, other, *pair) for pair in _in_vain(analysis, other, record)]
        if found:
            _, _, measured, read = found[-1]
            tensors = tuple(dict.fromkeys(record.id for record, *_ in found))
            counterparts = tuple(dict.fromkeys(other.id for _, other, *_ in found))
            before = [op for op in ops if op.index < read.index]
            yield MeasuredElsewhere(ends, tensors, counterparts, measured, (before or ops)[-1], read)


def _in_vain(analysis: Analysis, buffer: TensorRecord, copy: TensorRecord) -> Iterator[tuple[Op, Op]]:
    """(what computes a buffer anew, what then evaluates with its copy), where nothing reads the buffer."""
    capture, end = analysis.capture, len(analysis.capture.ops)
    writes = [op for op, _ in analysis.writes_to(buffer.storage, buffer.id, 0, end)]
    for at, reset in enumerate(writes):
        if is_a(reset.name, OpKind.KEEPS_STATISTICS) or not is_a(reset.name, OpKind.ZEROES | OpKind.SETS_NUMBER):
            continue
        forwards = _forwards(writes[at + 1 :])
        if not forwards:
            continue
        after = at + 1 + len(forwards)
        until = writes[after].index if after < len(writes) else end
        if any(forwards[-1].index < reader < until for reader in capture.readers.get(buffer.id, ())):
            continue
        read = _evaluated(analysis, copy, reset.index, forwards[-1].index)
        if read is not None:
            yield reset, read


def _forwards(writes: list[Op]) -> list[Op]:
    """Those at the beginning that compute statistics, and from which nothing learns."""
    forwards = []
    for op in writes:
        if op.recorded or not is_a(op.name, OpKind.KEEPS_STATISTICS):
            break
        forwards.append(op)
    return forwards


def _evaluated(analysis: Analysis, copy: TensorRecord, start: int, since: int) -> Op | None:
    """What evaluates with the copy of a buffer after that, where other weights computed what it has."""
    ops = analysis.capture.ops
    for at in analysis.capture.readers.get(copy.id, ()):
        op = ops[at]
        if at > since and op.call >= 0 and op.has(Trait.EVALUATES):
            written = next((op for op, _ in analysis.writes_back(copy.storage, 0, at)), None)
            own = written is not None and is_a(written.name, OpKind.KEEPS_STATISTICS)
            return None if own or (written is not None and written.index > start) else op
    return None
