"""AG602 where ranks do not agree which of them steps a parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.placement_rows import HERE
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import RankedPlacement, RankedRow, ranks_text
from autograd_inspector.model.wording import agree, summarize_names


def other_owners(ranks: Mapping[int, RankSummary], placement: RankedPlacement) -> Iterator[Across]:
    """One problem for all parameters of an optimizer that deals them out to the ranks."""
    rows = [row for row in placement.rows if len(set(_owners(placement, row).values())) > 1]
    if not rows:
        return
    names, kind = tuple(row.name for row in rows), rows[0].optimizer
    of_first = _owners(placement, rows[0])
    first, *others = of_first
    odd = tuple(rank for rank in others if of_first[rank] != of_first[first])
    told = ", ".join(
        f"rank {owner} according to rank {rank}" for rank, owner in of_first.items() if rank in (first, odd[0])
    )
    made = (done for rank in (first, *odd) for done in ranks[rank].made if done.api == kind)
    yield (
        Problem(
            "error",
            f"ranks do not agree which of them steps {summarize_names(names)} ({rows[0].name}: {told}): {kind} got its parameters "
            f"in a different order on different ranks, so ranks send and receive different weights for {agree(names, 'it', 'them')}",
            "Pass the parameters in the same order on every rank, as `model.parameters()` does.",
            tuple(dict.fromkeys(place for done in made for place in done.places)),
            names,
        ),
        odd,
    )


def overwritten(ranks: Mapping[int, RankSummary], placement: RankedPlacement) -> Iterator[Across]:
    """Weights that some ranks step, and others send over what these made of them: one problem for each line that sends."""
    for at, done in enumerate(next(iter(ranks.values())).senders):
        lines = {rank: summary.senders[at] for rank, summary in ranks.items() if at < len(summary.senders)}
        alike = {(line.api, line.places, line.value, line.names) for line in lines.values()}
        if len(lines) < len(ranks) or len(alike) > 1 or _sent_by_another(ranks, done):
            continue
        root = int(done.value)
        steppers = {row.name: _steppers(placement, row) for row in placement.rows if row.name in done.names}
        names = tuple(name for name, stepping in steppers.items() if stepping and root not in stepping)
        if not names:
            continue
        stepping = steppers[names[0]]
        yield (
            Problem(
                "error",
                f"{ranks_text(stepping)} {agree(stepping, 'steps', 'step')} {summarize_names(names)}, and {done.api} then sends the "
                f"values of rank {root}, which does not step {agree(names, 'it', 'them')}: every step is overwritten",
                f"Call {done.api} with the rank that steps each parameter as its source.",
                tuple(
                    dict.fromkeys(p for d in (done, *(s for r in stepping for s in ranks[r].steps)) for p in d.places)
                ),
                names,
            ),
            stepping,
        )


def _sent_by_another(ranks: Mapping[int, RankSummary], done: Done) -> bool:
    """Whether another rank, or line, sends some of the same weights, too."""
    all_lines = [line for summary in ranks.values() for line in summary.senders]
    return any(
        (line.value, line.places) != (done.value, done.places) and set(line.names) & set(done.names)
        for line in all_lines
    )


def _steppers(placement: RankedPlacement, row: RankedRow) -> tuple[int, ...]:
    """The ranks whose own optimizer holds a parameter."""
    return tuple(rank for rank, s in zip(placement.ranks, row.shares, strict=True) if s is not None and s.optimizer)


def _owners(placement: RankedPlacement, row: RankedRow) -> dict[int, int]:
    """Rank -> who steps a parameter, as that rank sees it; nothing where each steps its own."""
    shares = {rank: s for rank, s in zip(placement.ranks, row.shares, strict=True) if s is not None and s.optimizer}
    if all(share.stepped_by < 0 for share in shares.values()):
        return {}
    return {rank: rank if s.stepped_by == HERE else s.stepped_by for rank, s in shares.items() if s.stepped_by != -1}
