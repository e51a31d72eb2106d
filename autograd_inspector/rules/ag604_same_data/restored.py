"""AG604 where ranks draw different batches until their random generators get one state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rank_summary import Done, RankSummary
from autograd_inspector.model.ranks import ranks_text
from autograd_inspector.model.wording import counted

Across = tuple[Problem, tuple[int, ...]]
_LEAST = 3
"""Batches that are the same, one by one, before it is told."""


def alike_since(ranks: Mapping[int, RankSummary]) -> Iterator[Across]:
    """One problem for the last line that set one state on all ranks: all batches behind it are the same, none before."""
    if not all(summary.replica for summary in ranks.values()):
        return
    first, *_ = ranks.values()
    count = len(first.data)
    if any(len(summary.data) != count for summary in ranks.values()):
        return
    alike = [len(set(batches)) == 1 for batches in zip(*(summary.data for summary in ranks.values()), strict=True)]
    for done in reversed(first.reseeded):
        later = first.data[done.times :]
        if any(alike[: done.times]) or not all(alike[done.times :]) or not 0 < done.times <= count - _LEAST:
            continue
        if len(set(later)) > 1 and all(_has(summary, done) for summary in ranks.values()):
            yield _problem(ranks, done, len(later)), tuple(ranks)
            return


def _has(summary: RankSummary, done: Done) -> bool:
    return any((d.api, d.times, d.value) == (done.api, done.times, done.value) for d in summary.reseeded)


def _problem(ranks: Mapping[int, RankSummary], done: Done, later: int) -> Problem:
    first = next(iter(ranks.values()))
    return Problem(
        "warning",
        f"{ranks_text(tuple(ranks))} train on the same data since {done.api} gave their random generators the same state: the "
        f"{counted(later, 'batch', 'batches')} after that are bitwise equal, and those before it differ",
        "Save the random state of every rank, for instance with all_gather_object, and restore on each rank its own. Or set a "
        "seed that depends on the rank: `torch.manual_seed(seed + rank)`.",
        (*done.places, *first.data_place),
        (done.api,),
    )
