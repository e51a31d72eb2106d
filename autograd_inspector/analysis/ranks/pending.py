"""Memory that a call between ranks still works with, and that the program writes to, or reads, before it waits."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Awaited, Communicated
from autograd_inspector.model.tensor import TensorRecord

_NOT_USES = Trait.COLLECTIVE | Trait.STEP | Trait.BACKWARD

_NO_VALUES = OpKind.TAKES_SHAPE_ONLY | OpKind.TAKES_NO_VALUES


class UsedEarly(Struct, frozen=True):
    """``op`` writes to ``tensor``, or ``reads`` it, after ``call`` began to exchange it, and before ``wait``."""

    call: Communicated
    op: Op
    tensor: int
    wait: Awaited
    reads: bool


def used_early(capture: Capture, reductions: Reductions) -> Iterator[UsedEarly]:
    """The first such use at each line; of calls that nobody waits for it is not known when they end."""
    waits = {wait.nth: wait for wait in capture.events_of(Awaited)}
    met: set[int] = set()
    for call in reductions.exchanges.calls:
        wait = waits.get(call.nth)
        if wait is None or not call.begun or not call.tensors:
            continue
        records = capture.tensors
        used = [records[tensor] for tensor in call.tensors]
        coming = [records[tensor] for tensor in reductions.exchanges.received(call)]
        for op in capture.ops[call.at + 1 : wait.at]:
            if op.has(_NOT_USES) or op.site in met:
                continue
            written = _met(used, [records[write.tensor] for write in op.writes])
            found = written or _met(coming, _read(capture, op))
            if found is not None:
                met.add(op.site)
                yield UsedEarly(call, op, found.id, wait, written is None)


def _read(capture: Capture, op: Op) -> list[TensorRecord]:
    """What an op computes with: to take a view of something, or its shape, reads no value."""
    stores = {capture.tensors[t].storage for t in op.outputs}
    taken = () if is_a(op.name, _NO_VALUES) else op.inputs
    return [capture.tensors[t] for t in taken if capture.tensors[t].storage not in stores]


def _met(exchanged: list[TensorRecord], used: list[TensorRecord]) -> TensorRecord | None:
    """The first of the exchanged ones that another has a byte in common with: of parts of one buffer each is its own."""
    return next((each for each in exchanged for other in used if each.overlaps(other) and _certain(each, other)), None)


def _certain(one: TensorRecord, other: TensorRecord) -> bool:
    """Whether what both reach over is what both have: columns of one table lie between each other."""
    dense = all(each.extent == each.nbytes for each in (one, other))
    return dense or (one.offset, one.extent) == (other.offset, other.extent)
