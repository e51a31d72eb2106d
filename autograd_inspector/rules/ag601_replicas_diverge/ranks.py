"""AG601 where replicas do not begin with the same weights, or get others on the way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location, dedupe_locations
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, summarize_names

Across = tuple[Problem, tuple[int, ...]]


def compared(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Weights that differ, and weights that only some ranks load."""
    if all(summary.replica for summary in ranks.values()):
        yield from _loaded(ranks)
        yield from _begun(ranks)
        yield from _edited(ranks)


def _begun(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Fingerprints at the first call that learns."""
    if not all(summary.weights for summary in ranks.values()):
        return
    first = next(iter(ranks))
    common = [name for name in ranks[first].weights if all(name in summary.weights for summary in ranks.values())]
    reduced = {name for summary in ranks.values() for name in summary.reduced}
    names = [
        name for name in common if name in reduced and len({summary.weights[name] for summary in ranks.values()}) > 1
    ]
    if not names:
        return
    others = tuple(
        rank for rank, summary in ranks.items() if any(summary.weights[n] != ranks[first].weights[n] for n in names)
    )
    yield (
        Problem(
            "warning",
            f"replicas have different weights when training starts: {summarize_names(names)} "
            f"{agree(names, 'differs', 'differ')} between rank {first} and {ranks_text(others)}. Reducing gradients never "
            "removes that difference",
            "Set the same seed on every rank before creating the model, or broadcast the weights of one rank: "
            "`for t in model.state_dict().values(): dist.broadcast(t, src=0)`.",
            dedupe_locations(ranks[others[0]].weights_place),
            tuple(names),
        ),
        others,
    )


def _loaded(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Loads that some ranks made and others did not."""
    loads: dict[tuple[str, tuple[Location, ...]], dict[int, Done]] = {}
    for rank, summary in ranks.items():
        for done in summary.loads:
            loads.setdefault((done.api, done.places), {})[rank] = done
    for (api, places), by_rank in loads.items():
        lacking = tuple(rank for rank in ranks if rank not in by_rank)
        if not lacking or any(ranks[rank].loads for rank in lacking):
            continue
        having = tuple(by_rank)
        names = next(iter(by_rank.values())).names
        yield (
            Problem(
                "warning",
                f"{api} gives {ranks_text(having)} different weights than {ranks_text(lacking)}: {summarize_names(names)} "
                f"{agree(names, 'is', 'are')} already replicated, and no broadcast follows",
                "Load on every rank, or before wrapping the model: the wrapper broadcasts the weights of rank 0.",
                dedupe_locations(places),
                names,
            ),
            having,
        )


def _edited(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Weights that some ranks change by a line that others never run."""
    lines: dict[tuple[str, tuple[Location, ...]], dict[int, Done]] = {}
    for rank, summary in ranks.items():
        for done in summary.edits:
            lines.setdefault((done.api, done.places), {})[rank] = done
    for (api, places), by_rank in lines.items():
        lacking = tuple(rank for rank in ranks if rank not in by_rank)
        if not lacking or any(ranks[rank].edits for rank in lacking):
            continue
        names = tuple(dict.fromkeys(name for done in by_rank.values() for name in done.names))
        yield (
            Problem(
                "warning",
                f"`{api}` changes {summarize_names(names)} on {ranks_text(tuple(by_rank))}, but {ranks_text(lacking)} "
                f"{agree(lacking, 'does', 'do')} not: the replicas diverge",
                "Change the weights on every rank, or broadcast them after the change.",
                dedupe_locations(places),
                names,
            ),
            tuple(by_rank),
        )
