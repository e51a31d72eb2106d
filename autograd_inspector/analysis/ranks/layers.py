"""What the layers of a model that is spread over ranks compute on each of them, and how steps move their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from autograd_inspector.analysis.ranks.beginnings import Names, Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import LayerComputed, WeightsMet
from autograd_inspector.model.rank_summary import Done

_STEPS = 8
"""Steps that are compared."""


def parallel(capture: Capture, reductions: Reductions) -> bool:
    """Whether layers sum over the ranks what they compute, in the forward of a module."""
    ops = capture.ops
    calls = (ops[event.at] for event in reductions.exchanges.calls if event.op and event.at < len(ops))
    return any(op.call >= 0 and not op.has(Trait.BACKWARD) for op in calls)


def computed(capture: Capture, reductions: Reductions, places: Places, names: Names) -> Iterator[Done]:
    """One for each layer, in the order of their first calls; those that something shards are left out."""
    spread = reductions.flattened | {row.tensor for row in capture.placement.rows if row.sharding is not None}
    met: Counter[str] = Counter()
    for event in capture.events_of(LayerComputed) if parallel(capture, reductions) else ():
        if spread.isdisjoint(event.tensors):
            own = tuple(names(event.tensors))
            name = next((each.rpartition(".")[0] for each in own), "") or event.path or event.type
            met[name] += 1
            told = name if met[name] == 1 else f"{name} #{met[name]}"  # Of two models, perhaps.
            yield Done(told, places(event.site, f"{told} called here"), 1, own, f"{event.given}:{event.result}")


def moved(capture: Capture, layers: tuple[Done, ...], names: Names) -> dict[str, tuple[int, ...]]:
    """Name -> the fingerprints behind each of the first steps; nothing where older ones are folded away."""
    wanted = {name for layer in layers for name in layer.names}
    found: dict[str, tuple[int, ...]] = {}
    for event in capture.events_of(WeightsMet) if wanted and not capture.history.folded else ():
        if event.what != "stepped":
            continue
        for name, digest in zip(names(event.tensors), event.digests, strict=True):
            if name in wanted and len(found.get(name, ())) < _STEPS:
                found[name] = (*found.get(name, ()), digest)
    return found
