"""Writes to copies of gradients that nothing reads afterwards: a flat vector, projected and never copied back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autograd_inspector.capture.freezing.discarded_results import METHODS, STACKING, is_gone, memory_of_gradients
from autograd_inspector.capture.freezing.handed_back import HandedBack
from autograd_inspector.capture.lines.bytecode import last_used_at
from autograd_inspector.capture.recording.raw_records import (
    OP_ERROR,
    OP_INPUTS,
    OP_NAME,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
    RawOp,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ResultDiscarded

_ASIDE = int(Trait.BACKWARD | Trait.STEP | Trait.INNER | Trait.COLLECTIVE)
_COLLECTIVE = int(Trait.COLLECTIVE)
_COPYING = STACKING | {"clone"}


class _Copy(NamedTuple):
    """The op that made a copy, and whose gradients it is of."""

    made: int
    of: tuple[int, ...]


def lost_gradient_copies(recording: Recording) -> Iterator[ResultDiscarded]:
    """One event for each line that writes to such a copy: the last write before the copy is gone, and unread.

    A function that lets go of a variable when it ends may have kept the value elsewhere: no instruction may read it.
    """
    handed_back = HandedBack(recording)
    lost: dict[int, tuple[int, dict[int, None]]] = {}
    """Site -> its first such write, and whose gradients they are."""
    for storage, index, copy in _unread(recording, memory_of_gradients(recording)):
        if not _alive(recording, storage) and _unread_in_its_function(recording, handed_back, copy.made, index):
            lost.setdefault(recording.ops[index][OP_SITE], (index, {}))[1].update(dict.fromkeys(copy.of))
    for site, (index, tensors) in lost.items():
        name = recording.ops[index][OP_NAME]
        yield ResultDiscarded(index, site, name, tuple(tensors), written=True, of="gradients")


def _unread(recording: Recording, memory: dict[int, int]) -> Iterator[tuple[int, int, _Copy]]:
    """(storage of a copy, the last op that wrote it, behind which nothing read it, the copy)."""
    entries = recording.registry.entries
    copies: dict[int, _Copy] = {}
    written: dict[int, int] = {}
    for index, op in recording.ops.items() if memory else ():
        storages = _storages(recording, op)
        for storage in storages if written else ():
            written.pop(storage, None)
        if op[OP_ERROR] or op[OP_TRAITS] & _ASIDE:
            for storage in storages if op[OP_TRAITS] & _COLLECTIVE else ():
                copies.pop(storage, None)  # What ranks sum in it is told as that.
            continue
        own = {entry.storage for w in op[OP_WRITES] if (entry := entries.get(w.tensor)) is not None}
        written.update(dict.fromkeys(own & copies.keys(), index))
        if op[OP_NAME] in _COPYING and len(op[OP_OUTPUTS]) == 1 and not own:
            made = entries.get(op[OP_OUTPUTS][0])
            of = tuple(dict.fromkeys(memory[storage] for storage in storages if storage in memory))
            if of and made is not None and made.storage >= 0 and made.storage not in memory:
                copies[made.storage] = _Copy(index, of)
    for storage, index in written.items():
        yield storage, index, copies[storage]


def _unread_in_its_function(recording: Recording, handed_back: HandedBack, made: int, written: int) -> bool:
    taking = handed_back.taking(recording.ops[made][OP_SITE], METHODS)
    chains, site = recording.stacks.chains, recording.ops[written][OP_SITE]
    writing = chains[site][:1] if 0 <= site < len(chains) else []
    if taking is None or not writing:
        return False
    code, lasti, _ = taking.chain[taking.depth]
    return writing[0][0] is code and last_used_at(code, lasti, writing[0][1])


def _storages(recording: Recording, op: RawOp) -> set[int]:
    entries = (recording.registry.entries.get(tensor) for tensor in op[OP_INPUTS])
    return {entry.storage for entry in entries if entry is not None and entry.storage >= 0}


def _alive(recording: Recording, storage: int) -> bool:
    """Whether some tensor in that memory is still there, or was given to a call that returned none."""
    registry = recording.registry
    there = (number for number, entry in registry.entries.items() if entry.storage == storage)
    return not all(is_gone(recording, number) for number in there)
