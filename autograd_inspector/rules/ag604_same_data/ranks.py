"""AG604 where ranks give their replicas the same batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import counted


def compared(ranks: Mapping[int, RankSummary]) -> Iterator[tuple[Problem, tuple[int, ...]]]:
    """One problem for each set of ranks whose batches are the same, one by one."""
    if not all(summary.replica for summary in ranks.values()):
        return
    alike: dict[tuple[int, ...], list[int]] = {}
    for rank, summary in ranks.items():
        if summary.data:
            alike.setdefault(summary.data, []).append(rank)
    for data, having in alike.items():
        if len(having) < 2:
            continue
        yield (
            Problem(
                "warning",
                f"{ranks_text(tuple(having))} train on the same data: their {counted(len(data), 'batch', 'batches')} are "
                f"bitwise equal, so {counted(len(having), 'rank')} do the work of one",
                "Give each rank a different part: use a DistributedSampler, or `dataset[rank::world_size]`. If batches are "
                "sampled at random, use a different seed on each rank: `torch.manual_seed(seed + rank)`.",
                tuple(ranks[having[0]].data_place),
                (),
            ),
            tuple(having),
        )
