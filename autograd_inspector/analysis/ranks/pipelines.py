"""Pipelines by hand: which gradient that came back a stage used for what it had sent, and which the next stage meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.beginnings import Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.rank_summary import Turned

_MOST = 256
"""Gradients whose partners are told."""


class SentAgain(Struct, frozen=True):
    """``call`` sends a gradient of ``leaf`` that still holds what ``earlier`` has sent."""

    call: Communicated
    earlier: Communicated
    leaf: int


class _Messages:
    """The messages of one rank, each with its number among those to, or from, one other rank."""

    def __init__(self, reductions: Reductions, ways: OpKind) -> None:
        self._exchanges = reductions.exchanges
        self.calls: list[tuple[int, Communicated]] = []
        counted: Counter[int] = Counter()
        for call in reductions.exchanges.calls:
            if is_a(call.name, ways) and not call.failed:
                counted[call.peer] += 1
                self.calls.append((counted[call.peer], call))

    def last(self, tensor: int, before: int, peer: int) -> tuple[int, Communicated] | None:
        """The last of them before a moment that carried a tensor's values as they are."""
        wanted = self._exchanges.origin(tensor)
        for number, call in reversed(self.calls):
            if call.at < before and call.peer == peer and wanted in map(self._exchanges.origin, call.tensors):
                return number, call
        return None


def turned(capture: Capture, timeline: Timeline, reductions: Reductions, places: Places) -> Iterator[Turned]:
    """Each gradient that crossed between two stages; nothing where messages are told apart by tags, or folded away."""
    calls = [call for call in reductions.exchanges.calls if is_a(call.name, OpKind.POINT_TO_POINT)]
    if not calls or capture.history.folded or any(call.tagged or call.peer < 0 for call in calls):
        return
    sent, received = _Messages(reductions, OpKind.SENDS), _Messages(reductions, OpKind.RECEIVES)
    for run in capture.backwards[:_MOST]:
        for root, weight in zip(run.roots, run.weights, strict=False):
            for peer in {call.peer for call in calls}:
                there, back = sent.last(root, run.start, peer), received.last(weight, run.start, peer)
                if there is not None and back is not None:
                    yield Turned("used", peer, there[0], back[0], places(back[1].site, "gradient received here"))
    leaves = {gradient: leaf for leaf, gradients in _gradients_of_inputs(capture, reductions) for gradient in gradients}
    for number, call in sent.calls[:_MOST] if leaves else ():
        leaf = next((leaves[o] for o in map(reductions.exchanges.origin, call.tensors) if o in leaves), -1)
        came = next(iter(timeline.backwards_to(leaf).before(call.at + 1)), None)
        there = received.last(leaf, came.start, call.peer) if came is not None else None
        if there is not None:
            yield Turned("sent", call.peer, there[0], number, places(call.site, "gradient sent here"))


def _gradients_of_inputs(capture: Capture, reductions: Reductions) -> Iterator[tuple[int, frozenset[int]]]:
    for tensor in capture.tensors:
        if tensor.leaf and tensor.requires_grad and tensor.kind != "parameter":
            gradients = reductions.gradients(tensor.id)
            if gradients:
                yield tensor.id, gradients


def sent_again(capture: Capture, timeline: Timeline, reductions: Reductions) -> Iterator[SentAgain]:
    """The first gradient that is sent a second time, with more added to it: nothing cleared it in between."""
    sends = [call for call in reductions.exchanges.calls if is_a(call.name, OpKind.SENDS) and call.tensors]
    leaves = {g: t for t, gradients in _gradients_of_inputs(capture, reductions) for g in gradients} if sends else {}
    last: dict[int, Communicated] = {}
    for call in sends if leaves else ():
        gradient = next((o for o in map(reductions.exchanges.origin, call.tensors) if o in leaves), -1)
        earlier = last.get(gradient)
        last[gradient] = call
        if gradient < 0 or earlier is None:
            continue
        leaf, memory = leaves[gradient], reductions.exchanges.storage(gradient)
        added = [run for run in timeline.backwards_to(leaf).within(earlier.at, call.at) if leaf in timeline.stale(run)]
        written = (w.storage for op in capture.ops[earlier.at + 1 : call.at] for w in op.writes)
        if added and memory not in written:
            yield SentAgain(call, earlier, leaf)
            return
