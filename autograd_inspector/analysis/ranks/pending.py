"""Memory that a call between ranks still works with, and that the program writes to, or reads, before it waits."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Awaited, Communicated

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
        memory = {reductions.exchanges.storage(tensor): tensor for tensor in call.tensors}
        memory.pop(-1, None)
        coming = {reductions.exchanges.storage(tensor): tensor for tensor in reductions.exchanges.received(call)}
        coming.pop(-1, None)
        for op in capture.ops[call.at + 1 : wait.at]:
            if op.has(_NOT_USES) or op.site in met:
                continue
            written = [memory[w.storage] for w in op.writes if w.storage in memory]
            read = [] if written else _read(capture, op, coming)
            for tensor in (*written, *read)[:1]:
                met.add(op.site)
                yield UsedEarly(call, op, tensor, wait, not written)


def _read(capture: Capture, op: Op, coming: dict[int, int]) -> list[int]:
    """Of what is coming in that which an op computes with: to take a view of it, or its shape, reads no value."""
    stores = {capture.tensors[t].storage for t in op.outputs}
    taken = [] if is_a(op.name, _NO_VALUES) else [capture.tensors[t].storage for t in op.inputs]
    return [coming[storage] for storage in taken if storage in coming and storage not in stores]
