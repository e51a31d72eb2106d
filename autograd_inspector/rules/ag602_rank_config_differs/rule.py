"""AG602: replicas that are not trained alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import Difference, RankedPlacement
from autograd_inspector.model.wording import summarize_names

_PLACED = ("shape", "device", "placements", "held")
"""How parameters are dealt out to ranks, not how they are trained."""

_Read = Callable[[RankSummary], Iterable[Done]]


def check(_analysis: Analysis) -> Iterator[Problem]:
    """Ranks that reduce gradients together update their replicas with different settings.

    Why it matters
        Data parallelism keeps replicas equal because every rank makes the same step with the same gradient. A learning
        rate that depends on the rank, a scheduler that only rank 0 steps, or a layer that only one rank freezes makes the
        replicas diverge. No single rank can detect this: `report.gather()` or `autograd-inspect merge` compares the ranks.

    Example
        ::

            model = DistributedDataParallel(net)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * (1 + dist.get_rank()))
            model(x).square().mean().backward()
            optimizer.step()

    Fix
        ::

            model = DistributedDataParallel(net)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1 * dist.get_world_size())
            model(x).square().mean().backward()
            optimizer.step()

    References
        torch.nn.parallel.DistributedDataParallel.
    """
    return iter(())


def compare(ranks: Mapping[int, RankSummary], placement: RankedPlacement) -> Iterator[tuple[Problem, tuple[int, ...]]]:
    """One problem for each setting in which the ranks differ."""
    if not all(summary.replica for summary in ranks.values()):
        return
    reduced = {name for summary in ranks.values() for name in summary.reduced}
    concerned: dict[Difference, list[str]] = {}
    for row in placement.differing:
        for difference in row.differences:
            if row.name in reduced and difference.what not in _PLACED and not difference.what.startswith("state "):
                concerned.setdefault(difference, []).append(row.name)
    for difference, names in concerned.items():
        having = difference.values[-1][1]
        yield (
            Problem(
                "warning",
                f"ranks update {summarize_names(names)} with different settings, {difference}: the same gradient gives "
                "different steps, and the replicas diverge",
                _fix(difference),
                dedupe_locations(_places(ranks, difference, having)),
                (difference.what, *names),
            ),
            having,
        )


def _fix(difference: Difference) -> str:
    if difference.what == "requires_grad":
        return "Freeze and unfreeze the same parameters on every rank, before wrapping the model."
    return (
        f"Use the same {difference.what} on every rank: the settings of the optimizer and its scheduler must not depend on "
        "the rank, and values that one rank reads from a file or the environment must be broadcast."
    )


def _places(ranks: Mapping[int, RankSummary], difference: Difference, having: tuple[int, ...]) -> Iterator[Location]:
    """The lines that only some ranks ran, or ran more often, then those of the optimizer of a rank that differs."""
    if difference.what == "requires_grad":
        yield from _of(ranks, lambda summary: summary.frozen)
    else:
        yield from _of(ranks, lambda summary: summary.schedules)
    for rank in having:
        for done in (*ranks[rank].made, *ranks[rank].steps):
            yield from done.places


def _of(ranks: Mapping[int, RankSummary], read: _Read) -> Iterator[Location]:
    counts: dict[tuple[Location, ...], dict[int, int]] = {}
    for rank, summary in ranks.items():
        for done in read(summary):
            times = counts.setdefault(done.places, {})
            times[rank] = times.get(rank, 0) + done.times
    for places, times in counts.items():
        if len({times.get(rank, 0) for rank in ranks}) > 1:
            yield from places
