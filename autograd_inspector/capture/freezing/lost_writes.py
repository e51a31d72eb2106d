"""Writes to what an attribute computed anew: ``nn.init.zeros_(layer.weight)`` of a parametrized weight.

And to a copy of a buffer, which the statement drops: ``self.initialized.clone().fill_(1)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from autograd_inspector.capture.freezing.discarded_results import METHODS, is_dropped, is_gone, memory_of_parameters
from autograd_inspector.capture.freezing.handed_back import HandedBack
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

    Nothing read it after the write. Of buffers the statement has to drop it as well.
    """
    memory, buffers = memory_of_parameters(recording), _memory_of_buffers(recording)
    lost: dict[int, tuple[int, dict[int, None]]] = {}
    """Site -> its first such write, and the parameters."""
    copies: dict[int, tuple[int, dict[int, None]]] = {}
    """The same of buffers."""
    for tensor, index in _unread_writes(recording, memory.keys() | buffers.keys()).items():
        op = recording.ops[index]
        if op[OP_CALL] < 0:
            _, parameters = lost.setdefault(op[OP_SITE], (index, {}))
            parameters.update(dict.fromkeys(_origins(recording, memory, tensor, index)))
        of = _at_once(recording, buffers, tensor, index)
        if of:
            copies.setdefault(op[OP_SITE], (index, {}))[1].update(dict.fromkeys(of))
    for site, (index, parameters) in lost.items():
        if parameters:
            yield ResultDiscarded(index, site, recording.ops[index][OP_NAME], tuple(parameters), written=True)
    handed_back = HandedBack(recording)
    for site, (index, of_model) in copies.items():
        taking = handed_back.taking(site, METHODS)
        if taking is not None and not taking.depth and is_dropped(taking):
            name = recording.ops[index][OP_NAME]
            yield ResultDiscarded(index, site, name, tuple(of_model), written=True, of="values")


def _unread_writes(recording: Recording, of_models: AbstractSet[int]) -> dict[int, int]:
    """Tensor that is gone, in no memory of a model -> the last op that wrote it, behind which nothing read it."""
    written: dict[int, int] = {}
    for index, op in recording.ops.items() if of_models else ():
        for tensor in op[OP_INPUTS] if written else ():
            written.pop(tensor, None)
        if op[OP_WRITES] and not (op[OP_ERROR] or op[OP_TRAITS] & _ASIDE):
            for write in op[OP_WRITES]:
                entry = recording.registry.entries.get(write.tensor)
                if entry is not None and entry.storage not in of_models:
                    written[write.tensor] = index
    return {tensor: index for tensor, index in written.items() if is_gone(recording, tensor)}


def _memory_of_buffers(recording: Recording) -> dict[int, int]:
    """Storage -> the buffer that lies there."""
    registry = recording.registry
    entries = ((number, registry.entries.get(number)) for number in registry.buffers)
    return {entry.storage: number for number, entry in entries if entry is not None and entry.storage >= 0}


def _origins(recording: Recording, memory: dict[int, int], tensor: int, written: int) -> tuple[int, ...]:
    """The parameters that a line computed a tensor from: the line that wrote it, or one that gathered it."""
    birth = recording.registry.birth_of(tensor)
    if birth < 0 or birth not in recording.ops or recording.ops[birth][OP_NAME] in APART:
        return ()  # Apart: it was the parameter's own memory, which `p.data = other` has taken from it since.
    return _at_once(recording, memory, tensor, written) or _gathered(recording, tensor, birth, written)


def _at_once(recording: Recording, memory: dict[int, int], tensor: int, written: int) -> tuple[int, ...]:
    """What lies in the memory that the line which wrote the tensor had just made it from."""
    birth = recording.registry.birth_of(tensor)
    if birth < 0 or birth not in recording.ops or recording.ops[birth][OP_NAME] in APART:
        return ()
    # Something else in between: the line made it when the program came there before, and it was kept.
    there = _line(recording, written)
    at_once = there and all(_ran(recording, at, there) for at in range(birth, written))
    return _read(recording, memory, birth) if at_once else ()


def _ran(recording: Recording, index: int, line: object) -> bool:
    """Whether a line of the program ran an op, itself or in a function that it called."""
    op = recording.ops.get(index)
    site = op[OP_SITE] if op is not None else -1
    return site >= 0 and any(line == each for each in recording.stacks.lines_of(site))


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
