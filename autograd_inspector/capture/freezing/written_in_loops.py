"""The loops in which the program writes parameters itself, one after the other.

What such a loop goes over is all that it writes: the line to change where something is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.capture.lines.sources import compiled, source_at
from autograd_inspector.capture.recording.raw_records import OP_FIRST, OP_LAST, OP_SITE, OP_TRAITS, OP_WRITES
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import WrittenInLoop
from autograd_inspector.source.loops_around import LoopsAround

_ASIDE = int(Trait.STEP | Trait.BACKWARD)
_SEVERAL = 2


def written_in_loops(recording: Recording) -> Iterator[WrittenInLoop]:
    """One event for each line in a loop that writes to several parameters, where autograd records nothing.

    What a function of torch's writes, it writes in a loop of its own.
    """
    registry, stacks = recording.registry, recording.stacks
    memory = registry.storages_of(registry.parameters) if recording.steps else frozenset[int]()
    written: dict[int, set[int]] = {}
    for _, op in recording.ops.items() if memory else ():
        site, writes = op[OP_SITE], op[OP_WRITES]
        aside = op[OP_TRAITS] & _ASIDE or op[OP_FIRST] != op[OP_LAST] or site < 0 or site in stacks.through
        if not aside and len(writes) == 1 and writes[0].storage in memory:
            written.setdefault(site, set()).add(writes[0].storage)
    for site, storages in written.items():
        if not stacks.chains[site]:
            continue  # No line of the program's called it.
        code, lasti, library = stacks.chains[site][0]
        source = None if library or len(storages) < _SEVERAL else source_at(code.co_filename)
        head = 0 if source is None else source.index(LoopsAround).head(compiled(code, lasti, library=False).lineno)
        if head:
            yield WrittenInLoop(len(recording.ops), stacks.of_code(code, head), site)
