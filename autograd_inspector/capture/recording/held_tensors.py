"""What the program holds of graphs when torch refuses to go through, copy or send one: read off its variables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from types import FrameType

from torch import Tensor

from autograd_inspector.capture.lines.attributes import items_of
from autograd_inspector.capture.lines.holders import holders_of
from autograd_inspector.capture.lines.storing import entered_at, stored_at
from autograd_inspector.capture.recording.raw_records import FACT_BIRTH, OP_SITE
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import has_history
from autograd_inspector.capture.torch_private.resolving import find
from autograd_inspector.capture.torch_private.told import CACHE, CACHED
from autograd_inspector.model.program_events import TensorHeld

_TIMES = 3
"""So many failures are looked into, of all and of each line: a program that catches them may have many."""


def note_held(recording: Recording, frames: Collection[FrameType]) -> None:
    """Note what holds the results that have a graph, once for each line that made some."""
    line = next(((frame.f_code, frame.f_lineno) for frame in frames), None)
    recording.searched[line] += 1
    if (
        recording.searched[line] > _TIMES
        or len({e.at for e in recording.events if isinstance(e, TensorHeld)}) >= _TIMES
    ):
        return
    registry, at = recording.registry, len(recording.ops)
    candidates = [e.tensor for e in registry.entries if e.requires_grad and registry.facts[e.tensor][FACT_BIRTH] >= 0]
    live: dict[int, tuple[int, Tensor]] = {
        id(tensor): (number, tensor) for number, tensor in registry.alive(candidates) if has_history(tensor)
    }
    recording.events += _cached(recording, live, frames)
    told: set[tuple[int, type | None, str]] = set()
    for address, holder in holders_of(live.keys(), frames).items():
        number = live[address][0]
        made = recording.ops.get(registry.facts[number][FACT_BIRTH])
        site = made[OP_SITE] if made is not None else -1
        if (site, holder.kind, holder.name) not in told and holder.keeps:
            told.add((site, holder.kind, holder.name))
            kind = "" if holder.kind is None else holder.kind.__name__
            stored = stored_at(recording.stacks, holder, site)
            recording.events.append(TensorHeld(at, stored, number, kind, holder.name, holder.path))


def _cached(
    recording: Recording, live: Mapping[int, tuple[int, Tensor]], frames: Collection[FrameType]
) -> Iterator[TensorHeld]:
    """What ``parametrize.cached()`` keeps for as long as its block runs."""
    cache = find(CACHE)
    held = items_of(cache) if type(cache) is dict else ()
    numbers = [live[id(tensor)][0] for _, tensor in held if id(tensor) in live]
    block = next(filter(None, (entered_at(frame, CACHED) for frame in frames)), None) if numbers else None
    for number in numbers:
        site = -1 if block is None else recording.stacks.of_code(*block)
        yield TensorHeld(len(recording.ops), site, number, "", CACHED, f"{CACHED}()")
