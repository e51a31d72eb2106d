"""Edits of full parameters that FullyShardedDataParallel has gathered for a while, and whose shards keep their values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait

_ASIDE = (Trait.STEP, Trait.BACKWARD, Trait.COLLECTIVE)


class EditLost(Struct, frozen=True):
    """``edit`` wrote to all of a flat parameter, which ``gathered`` put there and ``freed`` took away, or to its views.

    ``tensors``: what was written by the same line, until then.
    """

    gathered: Op
    edit: Op
    freed: Op
    tensors: tuple[int, ...]


def edits_lost(capture: Capture, reductions: Reductions) -> Iterator[EditLost]:
    """For each line the first; what is written in a forward is the business of the model."""
    told = set[int]()
    for event in reductions.sharded_models:
        if not (event.flat and event.tensors):
            continue
        flat = event.tensors[0]
        swaps = [op for op in capture.ops if op.name == "set_data" and any(write.tensor == flat for write in op.writes)]
        for gathered, freed in pairwise(swaps):
            if gathered.call >= 0 or freed.call >= 0:
                continue
            full, shard = (capture.tensors[op.inputs[0]].storage for op in (gathered, freed))
            for edit in _edits(capture, gathered, freed, full, shard):
                if edit.edit.site not in told:
                    told.add(edit.edit.site)
                    yield edit


def _edits(capture: Capture, gathered: Op, freed: Op, full: int, shard: int) -> Iterator[EditLost]:
    """The lines that wrote to the full memory, where nothing wrote to that of the shard behind them."""
    lines: dict[int, list[Op]] = {}
    for op in capture.ops[gathered.index + 1 : freed.index]:
        written = {write.storage for write in op.writes} if op.name != "set_data" else set[int]()
        if shard in written:
            return  # It is written back.
        if full in written and not any(op.has(trait) for trait in _ASIDE):
            lines.setdefault(op.site, []).append(op)
    for ops in lines.values():
        tensors = dict.fromkeys(write.tensor for op in ops for write in op.writes if write.storage == full)
        yield EditLost(gathered, ops[0], freed, tuple(tensors))
