"""AG604 where ranks give their replicas the same batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import counted
from autograd_inspector.rules.ag604_same_data.restored import alike_since


def compared(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """What shows that ranks get the same samples."""
    yield from _batches(ranks)
    yield from alike_since(ranks)
    yield from _subsets(ranks) or _orders(ranks)


def _subsets(ranks: Mapping[int, RankSummary]) -> list[Across]:
    """One problem: the first sampler that deals out one set of data, which is another part of it on each rank."""
    for number in range(min(len(summary.dealt) for summary in ranks.values())):
        dealt = {rank: summary.dealt[number] for rank, summary in ranks.items()}
        first = next(iter(dealt))
        odd = tuple(rank for rank, each in dealt.items() if each.subset != dealt[first].subset)
        if not odd or min(each.subset for each in dealt.values()) < 0:
            continue
        if len({each.places for each in dealt.values()}) > 1:
            return []  # Some ranks have samplers that others have not.
        kind, drawn = dealt[first].type, dealt[first].split
        problem = Problem(
            "warning",
            f"{kind} gives each rank a part of one data set, but that set is another subset on rank {first} than on "
            f"{ranks_text(odd)}: some samples are used twice, others never, and what one rank holds out for validation "
            "others train on",
            "Split the data with the same generator on every rank: `random_split(data, lengths, generator=torch.Generator().manual_seed(0))`."
            if drawn
            else "Choose the indices of the Subset with the same seed on every rank.",
            (*drawn, *dealt[first].places),
            (kind, "random_split" if drawn else "Subset"),
        )
        return [(problem, odd)]
    return []


def _orders(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One problem: the first epoch in which samplers that deal out one set of data shuffle it differently."""
    for number in range(min(len(summary.dealt) for summary in ranks.values())):
        dealt = {rank: summary.dealt[number] for rank, summary in ranks.items()}
        epochs = zip(*(each.orders for each in dealt.values()), strict=False)
        epoch = next((at for at, orders in enumerate(epochs) if len(set(orders)) > 1), None)
        if epoch is None or any(each.orders[epoch] < 0 for each in dealt.values()):
            continue
        having: dict[int, list[int]] = {}
        for rank, each in dealt.items():
            having.setdefault(each.orders[epoch], []).append(rank)
        told = ", ".join(f"{order} on {ranks_text(tuple(holders))}" for order, holders in having.items())
        odd = tuple(rank for holders in list(having.values())[1:] for rank in holders)
        kind = dealt[odd[0]].type
        yield (
            Problem(
                "warning",
                f"{kind} shuffles the data differently on different ranks: its seed plus its epoch is {told}, so the parts of "
                "the ranks overlap, and some samples are not used",
                f"Use the same `seed` for {kind} on every rank, and call `sampler.set_epoch(epoch)` on every rank: each rank "
                "takes its part of the same order.",
                dealt[odd[0]].places,
                (kind, "seed"),
            ),
            odd,
        )
        return


def _batches(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
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
