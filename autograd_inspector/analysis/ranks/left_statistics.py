"""Running statistics that ranks leave out where they average the weights of the same layer."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Op, Trait
from autograd_inspector.model.program_events import Communicated


class LeftStatistics(Struct, frozen=True):
    """``estimated`` moves ``buffers`` by this rank's batches; ``call`` exchanges the weights that it takes as well."""

    call: Communicated
    buffers: tuple[int, ...]
    estimated: Op


def left_statistics(capture: Capture, reductions: Reductions) -> Iterator[LeftStatistics]:
    """One for each line that exchanges such weights, where no gradient is ever reduced: each rank trains by itself.

    Layers whose own weights stay on their rank as well are meant to be its own.
    """
    exchanged = {} if reductions.meant else reductions.exchanges.weights
    averaged = {storage: size for storage, size in exchanged.items() if size > 1}
    found: dict[int, LeftStatistics] = {}
    for op in capture.ops if averaged else ():
        buffers = [
            w.tensor for w in op.writes if capture.tensors[w.tensor].kind == "buffer" and w.storage not in averaged
        ]
        if not buffers or not op.recorded or op.has(Trait.STEP | Trait.BACKWARD):
            continue
        own = {reductions.exchanges.storage(t) for t in op.inputs if capture.tensors[t].kind == "parameter"}
        if not own or not own <= averaged.keys():
            continue
        call = _exchanging(reductions, own)
        if call is not None:
            before = found[call.site].buffers if call.site in found else ()
            first = found[call.site].estimated if call.site in found else op
            found[call.site] = LeftStatistics(call, tuple(dict.fromkeys((*before, *buffers))), first)
    yield from found.values()


def _exchanging(reductions: Reductions, memory: set[int]) -> Communicated | None:
    """The first call that was given one of them as it is."""
    storage = reductions.exchanges.storage
    calls = reductions.exchanges.calls
    return next((call for call in calls if not memory.isdisjoint(map(storage, call.tensors))), None)
