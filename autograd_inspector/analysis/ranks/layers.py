"""What the layers of a model that is spread over ranks compute on each of them, and how steps move their weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from autograd_inspector.analysis.ranks.beginnings import Names, Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import GradRead
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


def unclipped(capture: Capture, layers: tuple[Done, ...], places: Places, names: Names) -> Iterator[Done]:
    """For each parameter of such layers that torch's clipping read: the ``value`` has a fingerprint a step, "" for none."""
    wanted = {name for layer in layers for name in layer.names}
    told = any(read.digest is not None for read in capture.grad_reads) and not capture.history.folded
    reads: dict[int, list[GradRead]] = {}
    for read in capture.grad_reads if wanted and told else ():
        if read.digest is not None:
            reads.setdefault(read.tensor, []).append(read)
    for tensor, own in reads.items():
        (name,) = names([tensor])
        ends = [e.at for e in capture.events_of(WeightsMet) if e.what == "stepped" and tensor in e.tensors][:_STEPS]
        firsts = [next((r for r in own if start <= r.at < end), None) for start, end in pairwise([0, *ends])]
        digests = "|".join("" if read is None else str(read.digest) for read in firsts)
        if name in wanted and digests.strip("|"):
            yield Done("clip", places(own[0].site, "clipped here"), len(own), (name,), digests)


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
