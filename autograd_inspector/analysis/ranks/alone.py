"""Gradients that are reduced over a group of one rank, while the program has more."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.ranks.reductions import Reached, Reductions
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import Communicated, WrappedAlone


class ReducedAlone(Struct, frozen=True):
    """``by`` reduces the gradients of ``tensors`` over this rank alone, and nothing else does before the step."""

    by: Communicated | WrappedAlone
    reached: Reached
    tensors: tuple[int, ...]


def reduced_alone(capture: Capture, reductions: Reductions) -> Iterator[ReducedAlone]:
    """The first step of each such call or wrapper.

    Nothing where a model is spread over the ranks: then a group of replicas may well have one rank.
    """
    exchanges = reductions.exchanges
    spread = any(row.sharding is not None for row in capture.placement.rows) or reductions.sharded_models
    if capture.world_size <= 1 or exchanges.in_functions or exchanges.point_to_point or spread:
        return
    wrapped = {tensor: event for event in capture.events_of(WrappedAlone) for tensor in event.tensors}
    met: set[int] = set()
    for reached in reductions.reached:
        found: dict[int, tuple[Communicated | WrappedAlone, list[int]]] = {}
        for tensor in reached.local:
            by = wrapped.get(tensor) or reductions.called_alone(tensor, reached)
            if by is not None and not reductions.averaged(tensor):
                found.setdefault(by.site, (by, []))[1].append(tensor)
        for site, (by, tensors) in found.items():
            if site not in met:
                met.add(site)
                yield ReducedAlone(by, reached, tuple(tensors))
