"""AG601 where ranks sum gradients of weights that are not the same: parts of a layer, experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, summarize_names


def mixed_parts(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One finding, of parallel layers: without those all weights are to be the same, and differ by mistake."""
    first, *others = ranks
    if all(summary.replica for summary in ranks.values()):
        return
    common = set.intersection(*(set(summary.reduced) & summary.weights.keys() for summary in ranks.values()))
    names = tuple(name for name in ranks[first].reduced if name in common and _differs(ranks, name))
    lines = tuple(_lines(ranks[first], set(names)))
    if not names or not lines:
        return
    odd = tuple(rank for rank in others if any(ranks[rank].weights[n] != ranks[first].weights[n] for n in names))
    yield (
        Problem(
            "warning",
            f"the gradients of {summarize_names(names)} are summed over ranks that hold different weights under "
            f"{agree(names, 'this name', 'these names')} (rank {first} and {ranks_text(odd)}): parts of a layer, or different experts. "
            "The sum mixes gradients that have nothing in common",
            f"Leave {agree(names, 'it', 'them')} out of the reduction. Or reduce over the ranks that hold the same part: "
            "`dist.all_reduce(p.grad, group=group)`.",
            lines,
            names,
        ),
        odd,
    )


def _differs(ranks: Mapping[int, RankSummary], name: str) -> bool:
    return len({summary.weights[name] for summary in ranks.values()}) > 1


def _lines(summary: RankSummary, names: set[str]) -> Iterator[Location]:
    """The lines that were given one of these gradients."""
    found = dict.fromkeys(line for line, what, _ in summary.sequence if not names.isdisjoint(what.split()))
    for line in found:
        yield from summary.exchanges[line].places
