"""AG602: replicas that are not trained alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import Difference, RankedPlacement, ranks_text
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag602_rank_config_differs.owners import other_owners, overwritten

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


def compare(ranks: Mapping[int, RankSummary], placement: RankedPlacement) -> Iterator[Across]:
    """One problem for each setting in which the ranks differ."""
    if not all(summary.replica for summary in ranks.values()):
        return
    reduced = {name for summary in ranks.values() for name in summary.reduced}
    reduced -= {name for summary in ranks.values() for name in summary.sent}
    concerned: dict[Difference, list[str]] = {}
    models = Counter(row.name for row in placement.rows)
    for row in placement.differing:
        for difference in row.differences:
            if models[row.name] > 1 and "none" in dict(difference.values):
                continue  # Of two models of one name some ranks have kept only the one that is trained.
            if row.name in reduced and difference.what not in _PLACED and not difference.what.startswith("state "):
                concerned.setdefault(difference, []).append(row.name)
    yield from _state_loaded(ranks)
    yield from _precision(ranks)
    yield from other_owners(ranks, placement)
    yield from overwritten(ranks, placement)
    for difference, names in concerned.items():
        having = difference.values[-1][1]
        yield (
            Problem(
                "warning",
                _unlike(difference, names),
                _fix(difference),
                tuple(_places(ranks, difference, having)),
                (difference.what, *names),
            ),
            having,
        )


def _state_loaded(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Saved optimizer state that only some ranks load."""
    having = tuple(rank for rank, summary in ranks.items() if summary.state_loads)
    lacking = tuple(rank for rank in ranks if rank not in having)
    if not having or not lacking:
        return
    loads = [done for rank in having for done in ranks[rank].state_loads]
    names = tuple(dict.fromkeys(name for done in loads for name in done.names))
    yield (
        Problem(
            "warning",
            f"{loads[0].api} is called on {ranks_text(having)}, and not on {ranks_text(lacking)}: the optimizers of "
            f"{summarize_names(names)} have different state, the same gradient gives different steps, and the replicas diverge",
            "Load the optimizer state on every rank: read the file on all of them, or broadcast what one rank reads "
            "(`dist.broadcast_object_list`).",
            tuple(place for done in loads for place in done.places),
            ("state", *names),
        ),
        having,
    )


def _precision(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Autocast that is on for some ranks only, or casts to another dtype there."""
    used: dict[int, dict[str, str]] = {
        rank: {name: done.value for done in summary.autocast for name in done.names} for rank, summary in ranks.items()
    }
    values: dict[str, tuple[int, ...]] = {}
    for rank, dtypes in used.items():
        text = ", ".join(dict.fromkeys(dtypes.values())) or "off"
        values[text] = (*values.get(text, ()), rank)
    reduced = set.intersection(*(set(summary.reduced) for summary in ranks.values()))
    names = [n for n in reduced if len({dtypes.get(n, "") for dtypes in used.values()}) > 1]
    if not names or len(values) < 2:
        return
    having = next(holders for text, holders in values.items() if text != "off")
    names = [name for done in ranks[having[0]].autocast for name in done.names if name in names] or sorted(names)
    yield (
        Problem(
            "warning",
            f"ranks compute with {summarize_names(names)} in different precision, {Difference('autocast', tuple(values.items()))}: "
            "their gradients have different rounding errors, and are averaged all the same",
            "Use the same autocast on every rank.",
            tuple(place for done in ranks[having[0]].autocast for place in done.places),
            (*dict.fromkeys(names),),
        ),
        having,
    )


def _unlike(difference: Difference, names: list[str]) -> str:
    lacking = dict(difference.values).get("none") if difference.what == "optimizer" else None
    if lacking:
        return (
            f"only some ranks step {summarize_names(names)}, {difference}: all ranks reduce "
            f"{agree(names, 'its gradient', 'their gradients')}, but the new values are never sent to {ranks_text(lacking)}, so the "
            "replicas diverge"
        )
    return (
        f"ranks update {summarize_names(names)} with different settings, {difference}: the same gradient gives "
        "different steps, and the replicas diverge"
    )


def _fix(difference: Difference) -> str:
    if difference.what == "optimizer" and "none" in dict(difference.values):
        return (
            "Give the optimizer of every rank all parameters. To let each rank step a part of them, broadcast that part from "
            "it after step(), as ZeroRedundancyOptimizer does."
        )
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
        begun = {tuple(done.value for done in summary.steps) for summary in ranks.values()}
        if difference.what == "lr" and len(begun) == 1:  # They began alike: something changed them on the way.
            for rank in having:
                yield from (place for done in ranks[rank].schedules for place in done.places)
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
