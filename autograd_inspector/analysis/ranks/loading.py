"""Weights that a rank loads for itself: nothing sends them to the others behind that."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_inspector.analysis.op_kinds import OpKind, is_a
from autograd_inspector.analysis.ranks.beginnings import Names, Places
from autograd_inspector.analysis.ranks.reductions import Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import ModelLoaded
from autograd_inspector.model.rank_summary import Done


def loads(
    capture: Capture, reductions: Reductions, reduced: Collection[int], places: Places, names: Names
) -> Iterator[Done]:
    """Behind a wrapping, where none is, or before the model is sharded: then the ``value`` is what shards it.

    A wrapper sends out the weights of one rank; what shards them keeps of each rank's own a part.
    """
    for load in capture.events_of(ModelLoaded):
        later = (event.name for event in reductions.exchanges.calls if event.at >= load.at)
        if any(is_a(name, OpKind.FROM_ONE_RANK) for name in later):
            continue
        wrapped = [reductions.wrapper_of[t] for t in load.tensors if t in reductions.wrapper_of]
        concerned = [t for t in load.tensors if t in reduced]
        if concerned and all(wrapper.at <= load.at for wrapper in wrapped):
            yield Done(load.api, places(load.site, "loaded here"), 1, tuple(names(concerned)))
        for model in reductions.sharded_models:
            loaded = set(load.tensors) if load.at <= model.at else set[int]()
            shards = [shard for shard, whole in model.pairs if whole in loaded]
            if shards:
                both = (*places(load.site, "loaded here"), *places(model.site, "sharded here"))
                yield Done(load.api, both, 1, tuple(names(shards)), model.api)
