"""AG601 where copies of a layer each see a part of one sequence, and each learns from its part alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import agree, summarize_names


def parts_parted(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One finding: parameters that begin with the same values on all ranks, and have others behind a step."""
    first, *others = ranks
    common = set.intersection(*({n for done in s.gathered_parts for n in done.names} for s in ranks.values()))
    equal = {n for n in common if len({s.weights.get(n, rank) for rank, s in ranks.items()}) == 1}
    parted: dict[int, list[str]] = {}
    for name in (n for done in ranks[first].gathered_parts for n in done.names if n in equal):
        moved = [summary.moved.get(name, ()) for summary in ranks.values()]
        at = next((at for at, digests in enumerate(zip(*moved, strict=False)) if len(set(digests)) > 1), None)
        if at is not None:
            parted.setdefault(at, []).append(name)
    if not parted:
        return
    step = min(parted)
    names = tuple(dict.fromkeys(parted[step]))
    lines = [done for done in ranks[first].gathered_parts if set(done.names) & set(names)]
    steps = tuple(dict.fromkeys(place for done in ranks[first].step_lines for place in done.places))
    yield (
        Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'begins', 'begin')} with the same values on all ranks, and each rank's copy sees a "
            f"part of what is then gathered from all ranks, but after step {step + 1} {agree(names, 'it differs', 'they differ')} between "
            f"rank {first} and {ranks_text(tuple(others))}: the gradient of each copy covers one part only",
            "Sum these gradients over the ranks between backward() and step(): `dist.all_reduce(p.grad)`.",
            (*(place for done in lines for place in done.places), *steps),
            names,
        ),
        tuple(others),
    )
