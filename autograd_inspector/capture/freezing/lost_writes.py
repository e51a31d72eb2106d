"""Writes to what an attribute computed anew: ``nn.init.zeros_(layer.weight)`` of a parametrized weight."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.freezing.discarded_results import memory_of_parameters
from autograd_inspector.capture.recording.lineage import APART
from autograd_inspector.capture.recording.raw_records import (
    OP_CALL,
    OP_ERROR,
    OP_INPUTS,
    OP_NAME,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ResultDiscarded

_ASIDE = int(Trait.BACKWARD | Trait.STEP | Trait.INNER | Trait.COLLECTIVE)


def lost_writes(recording: Recording) -> Iterator[ResultDiscarded]:
    """One event for each line that writes to a tensor which that very line made from parameters, and which is gone.

    Nothing read it after the write.
    """
    memory = memory_of_parameters(recording)
    written: dict[int, int] = {}
    """Tensor -> the last op that wrote it."""
    for index, op in recording.ops.items() if memory else ():
        for tensor in op[OP_INPUTS] if written else ():
            written.pop(tensor, None)
        if op[OP_WRITES] and op[OP_CALL] < 0 and not (op[OP_ERROR] or op[OP_TRAITS] & _ASIDE):
            for write in op[OP_WRITES]:
                entry = recording.registry.entries.get(write.tensor)
                if entry is not None and entry.storage not in memory:
                    written[write.tensor] = index
    told: set[int] = set()
    for tensor, index in written.items():
        op = recording.ops[index]
        entry = recording.registry.entries.get(tensor)
        gone = entry is not None and entry() is None and tensor not in recording.registry.looked_at
        made = _maker(recording, tensor, op[OP_SITE]) if gone and op[OP_SITE] not in told else -1
        read = recording.ops[made][OP_INPUTS] if made >= 0 else ()
        storages = (recording.registry.entries.get(each) for each in read)
        tensors = tuple(memory[each.storage] for each in storages if each is not None and each.storage in memory)
        if tensors:
            told.add(op[OP_SITE])
            yield ResultDiscarded(index, op[OP_SITE], op[OP_NAME], tensors, written=True)


def _maker(recording: Recording, tensor: int, site: int) -> int:
    """The op that computed a tensor at the same line of the program; -1 none."""
    birth = recording.registry.birth_of(tensor)
    if birth < 0 or birth not in recording.ops:
        return -1
    if recording.ops[birth][OP_NAME] in APART:
        return -1  # It was the parameter's own memory, which `p.data = other` has taken from it since.
    stacks, made = recording.stacks, recording.ops[birth][OP_SITE]
    return birth if made >= 0 and site >= 0 and stacks.line_of(made) == stacks.line_of(site) else -1
