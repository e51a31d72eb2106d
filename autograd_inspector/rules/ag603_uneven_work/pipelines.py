"""AG603 where two stages of a pipeline take the gradients of their micro-batches in different orders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Across, Problem
from autograd_inspector.model.rank_summary import RankSummary, Turned


def crossed(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One problem: the first gradient that one stage sent for another micro-batch than the other used it for."""
    for rank, summary in ranks.items():
        for used in summary.turned:
            meant = _meant(ranks, rank, used) if used.what == "used" else None
            if meant is not None and not meant.there:
                yield _zeros(rank, used, meant)
                return
            if meant is not None and meant.there != used.there:
                yield (
                    Problem(
                        "error",
                        f"rank {rank} uses gradient {used.back} from rank {used.peer} for what it sent as number {used.there}, but rank "
                        f"{used.peer} computed it for number {meant.there}: micro-batches get each other's gradients",
                        "Use the gradients in the order in which the next stage sends them: both stages first in, first out, or both "
                        "last in, first out.",
                        (*used.places, *meant.places),
                        (f"rank {used.peer}",),
                    ),
                    (rank, used.peer),
                )
                return


def _zeros(rank: int, used: Turned, meant: Turned) -> Across:
    return (
        Problem(
            "error",
            f"rank {rank} uses what rank {used.peer} sends as a gradient, but rank {used.peer} sends zeros, which no backward() "
            f"computed: rank {rank} learns nothing from its loss",
            "Let what is received require grad before the forward (`received.requires_grad_()`), and send its `.grad` after backward().",
            (*meant.places, *used.places),
            (f"rank {used.peer}",),
        ),
        (rank, used.peer),
    )


def _meant(ranks: Mapping[int, RankSummary], rank: int, used: Turned) -> Turned | None:
    """What the other rank says of the same gradient."""
    theirs = ranks[used.peer].turned if used.peer in ranks else ()
    return next((t for t in theirs if t.what == "sent" and t.peer == rank and t.back == used.back), None)
