"""Pipelines by hand: which gradient that came back a stage used for what it had sent, and which the next stage meant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from msgspec import Struct

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.beginnings import Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.analysis.timeline import Timeline
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import Communicated
from autograd_inspector.model.rank_summary import Turned

_MOST = 256
"""Gradients whose partners are told."""


class SentAgain(Struct, frozen=True):
    """``call`` sends a gradient of ``leaf`` that still holds what ``earlier`` has sent: ``run`` added to it."""

    call: Communicated
    earlier: Communicated
    leaf: int
    run: Backward


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
    yield from _zeros_sent(capture, sent, places)
    leaves = {gradient: leaf for leaf, gradients in _gradients_of_inputs(capture, reductions) for gradient in gradients}
    for number, call in sent.calls[:_MOST] if leaves else ():
        leaf = next((leaves[o] for o in map(reductions.exchanges.origin, call.tensors) if o in leaves), -1)
        came = next(iter(timeline.backwards_to(leaf).before(call.at + 1)), None)
        there = received.last(leaf, came.start, call.peer) if came is not None else None
        if there is not None:
            yield Turned("sent", call.peer, there[0], number, places(call.site, "gradient sent here"))


def _zeros_sent(capture: Capture, sent: _Messages, places: Places) -> Iterator[Turned]:
    """Messages that are zeros as they were made: the gradient of nothing."""
    for number, call in sent.calls[:_MOST]:
        births = [capture.tensors[tensor].birth for tensor in call.tensors]
        zeros = [
            capture.ops[birth] for birth in births if birth >= 0 and is_a(capture.ops[birth].name, OpKind.RETURNS_ZEROS)
        ]
        storages = {capture.tensors[tensor].storage for tensor in call.tensors}
        if zeros and not any(w.storage in storages for op in capture.ops[zeros[0].index : call.at] for w in op.writes):
            both = (*places(zeros[0].site, "zeros made here"), *places(call.site, "zeros sent here"))
            yield Turned("sent", call.peer, 0, number, both)


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
    last: dict[int, tuple[Communicated, int]] = {}
    for call in sends if leaves else ():
        taken = (_taken(capture, reductions, tensor, call.at, leaves) for tensor in call.tensors)
        gradient, at = next((pair for pair in taken if pair[0] >= 0), (-1, -1))
        before = last.get(gradient)
        last[gradient] = (call, at)
        if gradient < 0 or before is None:
            continue
        earlier, since = before
        leaf, memory = leaves[gradient], reductions.exchanges.storage(gradient)
        added = [run for run in timeline.backwards_to(leaf).within(since, at) if leaf in timeline.stale(run)]
        written = (w.storage for op in capture.ops[since + 1 : at] for w in op.writes)
        if added and memory not in written:
            yield SentAgain(call, earlier, leaf, added[0])
            return


def _taken(
    capture: Capture, reductions: Reductions, tensor: int, at: int, gradients: Collection[int]
) -> tuple[int, int]:
    """(the gradient that a tensor is, or is a copy of, when it was taken); -1 where it is none."""
    while tensor >= 0:
        tensor = reductions.exchanges.origin(tensor)
        if tensor in gradients:
            return tensor, at
        birth = capture.tensors[tensor].birth
        if birth < 0 or not is_a(capture.ops[birth].name, OpKind.COPIES | OpKind.DETACHES):
            break
        tensor, at = next(iter(capture.ops[birth].inputs), -1), birth
    return -1, at
