"""AG604: ranks, or epochs, that get the same data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.program_events import SamplerIterated, SamplerUnused
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import RankedPlacement
from autograd_inspector.rules.ag604_same_data.ranks import compared


def check(analysis: Analysis) -> Iterator[Problem]:
    """Ranks train on the same samples, or every epoch has the same order.

    Why it matters
        With the same samples on each rank, several machines do the work of one. A DistributedSampler shuffles by its
        seed and its epoch: without a call to `set_epoch`, each epoch has the order of the first. Nothing raises.

    Example
        ::

            sampler = DistributedSampler(dataset, shuffle=True)
            loader = DataLoader(dataset, sampler=sampler)
            for epoch in range(3):
                for x in loader:
                    train(x)

    Fix
        ::

            sampler = DistributedSampler(dataset, shuffle=True)
            loader = DataLoader(dataset, sampler=sampler)
            for epoch in range(3):
                sampler.set_epoch(epoch)
                for x in loader:
                    train(x)

    References
        torch.utils.data.distributed.DistributedSampler (set_epoch).
    """
    yield from _unused(analysis)
    by_sampler: dict[int, list[SamplerIterated]] = {}
    for event in analysis.capture.events_of(SamplerIterated):
        if event.parts > 1:
            by_sampler.setdefault(event.sampler, []).append(event)
    for events in by_sampler.values():
        yield from _another_part(analysis, events)
        yield from _same_epoch(analysis, events)


def _unused(analysis: Analysis) -> Iterator[Problem]:
    """A sampler that no loader uses, while the ranks train on the dataset that it was made for."""
    capture = analysis.capture
    for event in capture.events_of(SamplerUnused):
        trained = analysis.timeline.steps.within(event.at, len(capture.ops))
        if event.parts <= 1 or not trained:
            continue
        yield Problem(
            "warning",
            f"the DataLoader reads the whole dataset on this rank: a DistributedSampler was created for it, for {event.parts} "
            "ranks, but the DataLoader did not get it",
            "Pass it to the loader, without shuffle: `DataLoader(dataset, sampler=sampler)`.",
            analysis.places((event, "iterated here"), (event.made, "sampler created here")),
            ("DistributedSampler", "DataLoader"),
        )
        return


def _another_part(analysis: Analysis, events: list[SamplerIterated]) -> Iterator[Problem]:
    capture, first = analysis.capture, events[0]
    if capture.rank < 0 or first.parts != capture.world_size or first.shard == capture.rank:
        return
    yield Problem(
        "warning",
        f"rank {capture.rank} reads part {first.shard} of {first.parts} of the data, which is the part of rank "
        f"{first.shard}: DistributedSampler got rank={first.shard}",
        "Omit num_replicas and rank: DistributedSampler reads them from the process group. Or pass `rank=dist.get_rank()`.",
        analysis.places((first.made, "sampler created here"), (first, "iterated here")),
        ("DistributedSampler", "rank"),
    )


def _same_epoch(analysis: Analysis, events: list[SamplerIterated]) -> Iterator[Problem]:
    """A sampler that always says the same epoch, and between two iterations of which the program trains."""
    first, last = events[0], events[-1]
    trained = analysis.timeline.steps.within(first.at, last.at) or analysis.capture.history.folded
    if not last.again or not last.shuffle or len({event.epoch for event in events}) > 1 or not trained:
        return
    yield Problem(
        "warning",
        f"DistributedSampler returned the same order {last.again + 1} times: its epoch stays {last.epoch}, and it shuffles "
        "by its seed and its epoch",
        "Call `sampler.set_epoch(epoch)` at the start of each epoch, before iterating over the loader.",
        analysis.places((last, "iterated again here"), (last.made, "sampler created here")),
        ("set_epoch",),
    )


def compare(ranks: Mapping[int, RankSummary], _placement: RankedPlacement) -> Iterator[Across]:
    """What the ranks' summaries show together."""
    yield from compared(ranks)
