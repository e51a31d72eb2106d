"""Copies of parameters, or of gradients, that ranks summed or received, and that are gone: nothing read the results."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from autograd_inspector.capture.freezing.discarded_results import memory_of_parameters
from autograd_inspector.capture.observers.optimizers.spread import rank_here
from autograd_inspector.capture.recording.raw_records import (
    OP_CALL,
    OP_INPUTS,
    OP_OUTPUTS,
    OP_TRAITS,
    OP_WRITES,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import Communicated, SumLost

_ASIDE = int(Trait.BACKWARD | Trait.STEP | Trait.INNER)
_SUMS = ("sum", "avg")


def lost_sums(recording: Recording) -> Iterator[SumLost]:
    """One event for each line all of whose results are gone unread: to write to them behind the call is not to read.

    Nor is it to compute as many numbers of them, which nothing reads either: the mean of the sum.
    """
    rank, _ = rank_here(before=recording.rank)
    calls = [event for event in recording.events if isinstance(event, Communicated) and event.world > 1]
    sums = {call.at: call for call in calls if call.op in _SUMS or (not call.op and 0 <= call.peer != rank)}
    if not sums:
        return
    copies = _Copies(recording)
    lost, read = _unread(recording, copies, sums)
    alive = {entry.storage for _, entry in recording.registry.entries.items() if entry() is not None}
    read |= {call.site for storage, call in lost.items() if storage in alive}
    lines: dict[int, list[int]] = {}
    for storage, call in lost.items():
        lines.setdefault(call.site, []).extend(copies.of[storage])
    for site, tensors in lines.items():
        if site not in read:
            call = next(call for call in lost.values() if call.site == site)
            yield SumLost(call.at, site, call.name, tuple(dict.fromkeys(tensors)))


def _unread(
    recording: Recording, copies: _Copies, sums: dict[int, Communicated]
) -> tuple[dict[int, Communicated], set[int]]:
    """(memory -> the call that summed what lies there, where nothing read it; lines some of whose sums were read)."""
    lost: dict[int, Communicated] = {}
    read: set[int] = set()
    for index, op in recording.ops.items():
        written = {write.storage for write in op[OP_WRITES]}
        for storage in {copies.storage(tensor) for tensor in op[OP_INPUTS]} - written:
            if storage not in lost:
                continue
            call, results = lost.pop(storage), [] if written else copies.carried_on(storage, op[OP_OUTPUTS])
            lost |= dict.fromkeys(results, call)
            if not results:
                read.add(call.site)
        if op[OP_TRAITS] & _ASIDE:
            continue
        if index in sums:
            lost |= {storage: sums[index] for storage in written if storage in copies.of}
        elif op[OP_CALL] < 0:
            copies.made(op[OP_INPUTS], op[OP_OUTPUTS])
    return lost, read


class _Copies:
    """Memory that holds the values of parameters, all of them, next to each other or in another form."""

    def __init__(self, recording: Recording) -> None:
        self._registry = recording.registry
        known = recording.registry.entries
        given = ((known.get(write.gradient), write.tensor) for write in recording.grad_writes)
        gradients = {entry.storage: tensor for entry, tensor in given if entry is not None and entry.storage >= 0}
        self._parameters = gradients | memory_of_parameters(recording)
        self.of: dict[int, tuple[int, ...]] = {}

    def storage(self, tensor: int) -> int:
        entry = self._registry.entries.get(tensor)
        return -1 if entry is None else entry.storage

    def made(self, inputs: tuple[int, ...], outputs: tuple[int, ...]) -> None:
        """An op gave as many elements as it was given, all of them from parameters."""
        sources = [self._source(tensor) for tensor in inputs]
        if len(outputs) != 1 or not sources or not all(sources):
            return
        storage = self.storage(outputs[0])
        if storage >= 0 and storage not in self._parameters and self._size(outputs[0]) == sum(map(self._size, inputs)):
            self.of[storage] = tuple(dict.fromkeys(tensor for source in sources for tensor in source))

    def carried_on(self, storage: int, outputs: tuple[int, ...]) -> list[int]:
        """The memory in which an op that was given a copy returned as many numbers, of which nothing is left either."""
        size = sum(self._size(tensor) for tensor in self.of[storage])
        results = [tensor for tensor in outputs if self.storage(tensor) not in (-1, storage)]
        if not results or len(results) < len(outputs) or any(self._size(tensor) != size for tensor in results):
            return []
        self.of |= {self.storage(tensor): self.of[storage] for tensor in results}
        return [self.storage(tensor) for tensor in results]

    def _source(self, tensor: int) -> tuple[int, ...]:
        storage = self.storage(tensor)
        return (self._parameters[storage],) if storage in self._parameters else self.of.get(storage, ())

    def _size(self, tensor: int) -> int:
        return prod(self._registry.facts[tensor][0]) if tensor in self._registry.entries else -1
