"""Which parts of the gradients are as backward left them, where the ranks gave this one only some of the sums back.

Memory is followed byte by byte from the end of a backward to a step: through copies, views, flat buffers and back.
Whatever else writes to a part ends that it is this rank's own: what is not understood counts as reduced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.exchanges import Exchanges
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import Step
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.tensor import TensorRecord

Part = tuple[int, int]
"""The bytes of a storage from the first to behind the last."""

_SCALES = OpKind.MULTIPLIES | OpKind.DIVIDES
_SAME = OpKind.COPIES | OpKind.RESHAPES | OpKind.CONVERTS
"""They return the elements of one tensor, in their order."""


def left_own(capture: Capture, exchanges: Exchanges, run: Backward, step: Step) -> frozenset[int]:
    """The parameters whose gradient, or a part of it, no exchange has reached between a backward and a step.

    Nothing where hooks exchange within the backward: what has its sum then is not known.
    """
    if any(call.tensors for call in exchanges.within(run.start, run.end)):
        return frozenset()
    given = {p.tensor: p.gradient for p in step.parameters if p.gradient >= 0}
    reached = set(run.reached)
    received = {call.at: exchanges.received(call) for call in exchanges.within(run.end, step.updates_from)}
    parts = _OwnParts(capture, received, (g for t in reached for g in _at_end(capture, t, run, given)))
    for op in capture.ops[run.end : step.updates_from]:
        if op.writes or op.outputs:
            parts.follow(op)
    return frozenset(tensor for tensor, gradient in given.items() if tensor in reached and parts.has(gradient))


def _at_end(capture: Capture, tensor: int, run: Backward, given: dict[int, int]) -> Iterable[int]:
    """What a parameter's gradient was when a backward was over: the first that was read, else what the step got."""
    reads = (read.gradient for read in capture.grad_reads if read.tensor == tensor and read.at >= run.end)
    writes = [write.at for write in capture.grad_writes if write.tensor == tensor and write.at >= run.end]
    first = next(reads, -1 if writes else given.get(tensor, -1))
    return (first,) if first >= 0 else ()


class _OwnParts:
    def __init__(self, capture: Capture, received: Mapping[int, tuple[int, ...]], gradients: Iterable[int]) -> None:
        self._tensors = capture.tensors
        self._received = received
        """Exchange -> what it writes to, where that is known: what a rank gives counts as written, too."""
        self._own: dict[int, list[Part]] = {}
        for gradient in gradients:
            record = self._tensors[gradient]
            self._put(record, [(0, record.nbytes)] if _dense(record) else [])

    def has(self, tensor: int) -> bool:
        """Whether some bytes of a tensor are this rank's own."""
        return bool(self._of(self._tensors[tensor]))

    def follow(self, op: Op) -> None:
        """What an op leaves of them, and where it copies them to."""
        made = [t for t in op.outputs if self._tensors[t].birth == op.index]
        new = [self._tensors[t] for t in made if self._tensors[t].storage not in self._stores(op.inputs)]
        for record in new:
            self._put(record, self._copied(op, record))
        for write in op.writes:
            target = self._tensors[write.tensor]
            others = [self._tensors[t] for t in op.inputs if self._tensors[t].storage != write.storage]
            if op.has(Trait.COLLECTIVE):
                got = self._received.get(op.index, ())
                if not got or write.tensor in got:
                    self._put(target, [])
            elif is_a(op.name, _SCALES) and all(_is_number(record) for record in others):
                continue
            elif is_a(op.name, OpKind.COPIES_INTO) and len(others) == 1:
                self._put(target, self._scaled(others[0], target))
            else:
                self._put(target, [])

    def _stores(self, tensors: Iterable[int]) -> set[int]:
        return {self._tensors[t].storage for t in tensors}

    def _copied(self, op: Op, made: TensorRecord) -> list[Part]:
        """The own parts of what an op returned, from its first byte on."""
        given = [self._tensors[t] for t in op.inputs]
        if is_a(op.name, OpKind.CONCATENATES) and all(len(record.shape) == 1 for record in given):
            parts, at = list[Part](), 0
            for record in given:
                parts += [(start + at, end + at) for start, end in self._of(record)]
                at += record.nbytes
            return parts
        values = [record for record in given if not _is_number(record)] or given[:1]
        if len(values) == 1 and is_a(op.name, _SAME | _SCALES):
            return self._scaled(values[0], made)
        return []

    def _scaled(self, source: TensorRecord, target: TensorRecord) -> list[Part]:
        """The own parts of one tensor as bytes of another that has the same elements."""
        if not (_dense(source) and _dense(target)) or not source.nbytes:
            return []
        if source.nbytes == target.nbytes:
            return self._of(source)
        whole = self._of(source) == [(0, source.nbytes)]  # In another dtype.
        return [(0, target.nbytes)] if whole and source.shape == target.shape else []

    def _of(self, record: TensorRecord) -> list[Part]:
        """The own parts of a tensor, from its first byte on."""
        begin, end = record.offset, record.offset + record.extent
        cut = ((max(a, begin) - begin, min(b, end) - begin) for a, b in self._own.get(record.storage, ()))
        return [part for part in cut if part[0] < part[1]] if _dense(record) and record.storage >= 0 else []

    def _put(self, record: TensorRecord, parts: list[Part]) -> None:
        """A tensor's memory now has these own parts, and no others."""
        if record.storage < 0:
            return
        begin, end = record.offset, record.offset + record.extent
        kept = [piece for a, b in self._own.get(record.storage, ()) for piece in ((a, min(b, begin)), (max(a, end), b))]
        kept += [(begin + a, begin + b) for a, b in parts]
        self._own[record.storage] = _joined(part for part in kept if part[0] < part[1])


def _joined(parts: Iterable[Part]) -> list[Part]:
    joined: list[Part] = []
    for start, end in sorted(parts):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _dense(record: TensorRecord) -> bool:
    """Whether a tensor has all the bytes that it reaches over."""
    return record.extent == record.nbytes


def _is_number(record: TensorRecord) -> bool:
    return all(size == 1 for size in record.shape)
