"""Writes to what an attribute computed anew: ``nn.init.zeros_(layer.weight)`` of a parametrized weight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autograd_inspector.capture.freezing.discarded_results import memory_of_parameters
from autograd_inspector.capture.recording.lineage import APART
from autograd_inspector.capture.recording.raw_records import (
    OP_CALL,
    OP_ERROR,
    OP_INPUTS,
    OP_NAME,
    OP_OUTPUTS,
    OP_SITE,
    OP_TRAITS,
    OP_WRITES,
)
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ModelSharded, ResultDiscarded

_ASIDE = int(Trait.BACKWARD | Trait.STEP | Trait.INNER | Trait.COLLECTIVE)

_MOST = 64
"""Ops of a line that are gone back over."""


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
    lost: dict[int, tuple[int, dict[int, None]]] = {}
    """Site -> its first such write, and the parameters."""
    for tensor, index in written.items():
        op, entry = recording.ops[index], recording.registry.entries.get(tensor)
        if entry is not None and entry() is None and tensor not in recording.registry.looked_at:
            _, parameters = lost.setdefault(op[OP_SITE], (index, {}))
            parameters.update(dict.fromkeys(_origins(recording, memory, tensor, index)))
    for site, (index, parameters) in lost.items():
        if parameters:
            yield ResultDiscarded(index, site, recording.ops[index][OP_NAME], tuple(parameters), written=True)


def _origins(recording: Recording, memory: dict[int, int], tensor: int, written: int) -> tuple[int, ...]:
    """The parameters that a line computed a tensor from: the line that wrote it, or one that gathered it."""
    birth = recording.registry.birth_of(tensor)
    if birth < 0 or birth not in recording.ops or recording.ops[birth][OP_NAME] in APART:
        return ()  # Apart: it was the parameter's own memory, which `p.data = other` has taken from it since.
    # Something else in between: the line made it when the program came there before, and it was kept.
    there = _line(recording, written)
    at_once = there and all(_line(recording, at) == there for at in range(birth, written))
    read = _read(recording, memory, birth) if at_once else ()
    return read or _gathered(recording, tensor, birth, written)


def _read(recording: Recording, memory: dict[int, int], made: int) -> tuple[int, ...]:
    """The parameters whose memory an op read."""
    entries = (recording.registry.entries.get(each) for each in recording.ops[made][OP_INPUTS])
    return tuple(memory[each.storage] for each in entries if each is not None and each.storage in memory)


def _gathered(recording: Recording, tensor: int, birth: int, written: int) -> tuple[int, ...]:
    """The shard of a parameter that a line gathered all of a tensor from, in steps: ``p.full_tensor()``."""
    events = (event for event in recording.events if isinstance(event, ModelSharded) and not event.flat)
    parameters = {shard for event in events for shard in event.tensors}
    facts, needed, line = recording.registry.facts, {tensor}, _line(recording, birth)
    last = birth
    while parameters and last + 1 < written and tensor in _outputs(recording, last + 1):
        last += 1  # It was handed on, out of what wrapped it.
    for index in range(last, max(last - _MOST, -1), -1) if parameters else ():
        op = recording.ops.get(index)
        if op is None or _line(recording, index) != line:
            break
        if needed.isdisjoint(op[OP_OUTPUTS]):
            continue
        for given in op[OP_INPUTS]:
            if given in parameters and facts[given][0] == facts[tensor][0]:
                return (given,)
        needed.update(op[OP_INPUTS])
    return ()


def _outputs(recording: Recording, index: int) -> Sequence[int]:
    op = recording.ops.get(index)
    return op[OP_OUTPUTS] if op is not None else ()


def _line(recording: Recording, index: int) -> object:
    """The program's line that ran an op; None unknown."""
    op = recording.ops.get(index)
    return recording.stacks.line_of(op[OP_SITE]) if op is not None and op[OP_SITE] >= 0 else None
