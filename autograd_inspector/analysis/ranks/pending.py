"""Memory that a call between ranks still works with, and that the program writes to before it waits."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Awaited, Communicated

_NOT_WRITES = Trait.COLLECTIVE | Trait.STEP | Trait.BACKWARD


class WrittenEarly(Struct, frozen=True):
    """``op`` writes to ``tensor`` after ``call`` began to exchange it, and before ``wait``."""

    call: Communicated
    op: Op
    tensor: int
    wait: Awaited


def written_early(capture: Capture, reductions: Reductions) -> Iterator[WrittenEarly]:
    """The first such write at each line; of calls that nobody waits for it is not known when they end."""
    waits = {wait.nth: wait for wait in capture.events_of(Awaited)}
    met: set[int] = set()
    for call in reductions.exchanges.calls:
        wait = waits.get(call.nth)
        if wait is None or not call.begun or not call.tensors:
            continue
        memory = {reductions.exchanges.storage(tensor): tensor for tensor in call.tensors}
        memory.pop(-1, None)
        for op in capture.ops[call.at + 1 : wait.at]:
            written = [] if op.has(_NOT_WRITES) else [w.storage for w in op.writes if w.storage in memory]
            if written and op.site not in met:
                met.add(op.site)
                yield WrittenEarly(call, op, memory[written[0]], wait)
