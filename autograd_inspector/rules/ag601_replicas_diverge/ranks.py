"""AG601 where replicas do not begin with the same weights, or get others on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, summarize_names
from autograd_inspector.rules.ag601_replicas_diverge.rejoined import rejoined


def compared(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Weights that differ, and weights that only some ranks load."""
    if all(summary.replica for summary in ranks.values()):
        yield from _loaded(ranks)
        yield from _begun(ranks)
        if not any(summary.joins for summary in ranks.values()):
            # A rank whose data is at an end only answers the others, and steps no more.
            yield from _edited(ranks)
            yield from _gradients_edited(ranks)
        yield from _teachers(ranks)
        yield from _targets(ranks)


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
    if not names or rejoined(ranks, (f"|{name}" for name in names), 0):
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
            (*first_written(ranks[others[0]], names), *ranks[others[0]].weights_place),
            tuple(names),
        ),
        others,
    )


def first_written(summary: RankSummary, names: Iterable[str]) -> Iterator[Location]:
    """The lines that gave some weights their first values."""
    wanted = set(names)
    for done in summary.drawn:
        if not wanted.isdisjoint(done.names):
            yield from done.places


def _loaded(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Loads that some ranks made and others did not."""
    loads: dict[tuple[str, tuple[Location, ...]], dict[int, Done]] = {}
    for rank, summary in ranks.items():
        for done in summary.loads:
            loads.setdefault((done.api, done.places), {})[rank] = done
    for (api, _), by_rank in loads.items():
        lacking = tuple(rank for rank in ranks if rank not in by_rank)
        if not lacking or any(ranks[rank].loads for rank in lacking):
            continue
        yield _loaded_apart(api, by_rank, lacking), tuple(by_rank)


def _loaded_apart(api: str, by_rank: Mapping[int, Done], lacking: tuple[int, ...]) -> Problem:
    done = next(iter(by_rank.values()))
    names, sharder = done.names, done.value
    start = f"{api} gives {ranks_text(tuple(by_rank))} different weights than {ranks_text(lacking)}"
    if sharder:
        return Problem(
            "warning",
            f"{start}: {sharder}() then keeps a part of each rank's own weights and sends none, so the loaded values of "
            f"{summarize_names(names)} are only a part of {agree(names, 'it', 'them')}",
            f"Load on every rank before {sharder}(). Or load after it, on every rank: `set_model_state_dict(model, state, "
            "options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))`.",
            tuple(done.places),
            names,
        )
    return Problem(
        "warning",
        f"{start}: {summarize_names(names)} {agree(names, 'is', 'are')} already replicated, and no broadcast follows",
        "Load on every rank, or before wrapping the model: the wrapper broadcasts the weights of rank 0.",
        tuple(done.places),
        names,
    )


def _gradients_edited(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Reduced gradients that some ranks change by a line that others run less often, or never."""
    lines: dict[tuple[str, tuple[Location, ...]], dict[int, Done]] = {}
    common = _reduced_by_all(ranks)
    for rank, summary in ranks.items():
        for done in summary.gradient_edits:
            if not common.isdisjoint(done.names):
                lines.setdefault((done.api, done.places), {})[rank] = done
    uneven = {
        line: by_rank
        for line, by_rank in lines.items()
        if len({by_rank[rank].times if rank in by_rank else 0 for rank in ranks}) > 1
    }
    having = frozenset[int]().union(*uneven.values()) if uneven else frozenset()
    lacking = tuple(
        rank for rank in ranks if any(_times(by, rank) < max(_times(by, r) for r in by) for by in uneven.values())
    )
    most = tuple(rank for rank in ranks if rank not in lacking)
    if not uneven or not most or not having:
        return  # Each rank has a line of its own that does the same, perhaps.
    first = next(iter(uneven.values()))
    names = tuple(
        dict.fromkeys(name for by_rank in uneven.values() for done in by_rank.values() for name in done.names)
    )
    often = "never" if all(rank not in first for rank in lacking) else "less often"
    done = next(iter(first.values()))
    yield (
        Problem(
            "warning",
            f"`{done.api}` changes the reduced {agree(names, 'gradient', 'gradients')} of {summarize_names(names)} on "
            f"{ranks_text(most)}, and {often} on {ranks_text(lacking)}: the ranks step with different gradients, and the "
            "replicas diverge",
            "Change the gradients on every rank, under a condition that is the same on all of them: after the reduction each "
            "rank has the same gradients, and the same norm.",
            tuple(place for _, places in uneven for place in places),
            names,
        ),
        most,
    )


def _teachers(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Weights of an average or a teacher that only some ranks update, and the others compute with."""
    having = tuple(rank for rank, summary in ranks.items() if summary.teachers)
    for rank in having[:1]:
        for done in ranks[rank].teachers:
            names = tuple(name for name in done.names if any(name in ranks[r].read for r in ranks if r not in having))
            lacking = tuple(r for r in ranks if r not in having and set(names) & set(ranks[r].read))
            if not lacking:
                continue
            yield (
                Problem(
                    "warning",
                    f"`{done.api}` updates {summarize_names(names)} on {ranks_text(having)} only, but {ranks_text(lacking)} "
                    f"{agree(lacking, 'computes', 'compute')} with {agree(names, 'it', 'them')} too: the ranks train towards "
                    "different targets",
                    "Update the copy on every rank, or broadcast it after the update.",
                    tuple(done.places),
                    names,
                ),
                having,
            )


def _targets(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Weights that no step moves, of a model that is only asked, and that differ from the start."""
    first, *others = ranks
    read = set.intersection(*(set(summary.read) & summary.kept.keys() for summary in ranks.values()))
    names = [name for name in ranks[first].kept if name in read and len({s.kept[name] for s in ranks.values()}) > 1]
    if not names or any(summary.teachers for summary in ranks.values() if summary.teachers != ranks[first].teachers):
        return
    odd = tuple(rank for rank in others if any(ranks[rank].kept[name] != ranks[first].kept[name] for name in names))
    yield (
        Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'differs', 'differ')} between rank {first} and {ranks_text(odd)} in the first "
            "call, although the trained weights are replicas: the ranks train towards different targets",
            "Copy the model after wrapping it (`copy.deepcopy(ddp.module)`), or broadcast the weights of the copy, or use the "
            "same seed on every rank before creating it.",
            ranks[odd[0]].kept_place,
            tuple(names),
        ),
        odd,
    )


def _reduced_by_all(ranks: Mapping[int, RankSummary]) -> set[str]:
    """Some rank freezes the others, or has not used them: what it does to them, it does not tell."""
    return set.intersection(*(set(summary.reduced) for summary in ranks.values()))


def _times(by_rank: Mapping[int, Done], rank: int) -> int:
    return by_rank[rank].times if rank in by_rank else 0


def _edited(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """Weights that some ranks change by a line that others never run."""
    lines: dict[tuple[str, tuple[Location, ...]], dict[int, Done]] = {}
    common = _reduced_by_all(ranks)
    for rank, summary in ranks.items():
        for done in summary.edits:
            if not common.isdisjoint(done.names):
                lines.setdefault((done.api, done.places), {})[rank] = done
    uneven = {line: by_rank for line, by_rank in lines.items() if len(by_rank) < len(ranks)}
    for (api, places), by_rank in uneven.items():
        lacking = tuple(rank for rank in ranks if rank not in by_rank)
        if any(rank in other for other in uneven.values() for rank in lacking):
            continue  # It has a line of its own that does the same, perhaps.
        names = tuple(dict.fromkeys(n for done in by_rank.values() for n in done.names if n in common))
        yield (
            Problem(
                "warning",
                f"`{api}` changes {summarize_names(names)} on {ranks_text(tuple(by_rank))}, but {ranks_text(lacking)} "
                f"{agree(lacking, 'does', 'do')} not: the replicas diverge",
                "Change the weights on every rank, or broadcast them after the change.",
                tuple(places),
                names,
            ),
            tuple(by_rank),
        )
