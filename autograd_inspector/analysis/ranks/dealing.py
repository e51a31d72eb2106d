"""In which orders a rank's samplers shuffled the data of which they give a part."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.ranks.beginnings import Places
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.program_events import SamplerIterated
from autograd_inspector.model.rank_summary import Dealt

_MOST = 256
"""Epochs that are compared."""


def dealt(capture: Capture, places: Places) -> Iterator[Dealt]:
    """One for each sampler that deals out to all ranks; of a folded capture its first epoch alone."""
    by_sampler: dict[int, list[SamplerIterated]] = {}
    for event in capture.events_of(SamplerIterated):
        if event.epoch >= 0 and event.parts == capture.world_size > 1:
            by_sampler.setdefault(event.sampler, []).append(event)
    for events in by_sampler.values():
        first = events[0]
        compared = events[: 1 if capture.history.folded else _MOST] if first.shuffle else []
        yield Dealt(
            first.type,
            tuple(event.order for event in compared),
            (*places(first.made, "sampler created here"), *places(first.site, "iterated here")),
            first.subset,
            places(first.split, "split here") if first.split >= 0 else (),
        )
