"""What a collective that one rank alone gets the result of leaves on this one, where a loss is computed with it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.forward_exchanges import ancestors, read_behind
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import Communicated

_MOST = 64
"""Backwards that are looked at."""


class LeftOver(Struct, frozen=True):
    """``run`` differentiates what is computed with ``tensor``, of which another rank than this one has got the sum."""

    call: Communicated
    run: Backward
    tensor: int


def left_over(capture: Capture, reductions: Reductions) -> Iterator[LeftOver]:
    """For each line the first; nothing where another call writes to it before it is read."""
    calls = [call for call in reductions.exchanges.calls if _elsewhere(capture, call)]
    met: set[int] = set()
    for run in capture.backwards[:_MOST] if calls else ():
        above = ancestors(capture, run.roots)
        for call in calls:
            if call.at >= run.start or call.site in met:
                continue
            for tensor in call.tensors:
                end = _overwritten(capture, reductions, call, tensor)
                if read_behind(capture, call, tensor, {op for op in above if op < end}):
                    met.add(call.site)
                    yield LeftOver(call, run, tensor)
                    break


def _elsewhere(capture: Capture, call: Communicated) -> bool:
    other = call.peer >= 0 and capture.rank >= 0 and call.peer != capture.rank
    return other and is_a(call.name, OpKind.TO_ONE_RANK) and call.op != "" and not call.inside


def _overwritten(capture: Capture, reductions: Reductions, call: Communicated, tensor: int) -> int:
    """The next op that gives the memory other values: those of another call, or a copy."""
    memory = reductions.exchanges.storage(tensor)
    for op in capture.ops[call.at + 1 :]:
        other = op.has(Trait.COLLECTIVE) or is_a(op.name, OpKind.COPIES_INTO | OpKind.ZEROES)
        if other and any(write.storage == memory for write in op.writes):
            return op.index
    return len(capture.ops)
