"""AG601 where each rank compares its rows with those of rank 0, among the rows of all ranks."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.own_rows import others_rows
from autograd_inspector.model.finding import Problem


def compared_with_others(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that computes such a loss."""
    for found in others_rows(analysis.capture, analysis.reductions):
        scores = name_of(analysis, found.scores)
        rank, rows = analysis.capture.rank, found.rows
        yield Problem(
            "warning",
            f"`{found.loss.name}` takes the scores of {rows} rows of this rank over the rows of all ranks, and classes that "
            f"`{found.numbered.name}` counts from 0. These are the rows of rank 0: this rank's own begin at {rank * rows} "
            f"(rank {rank}), so it learns to match its rows with those of another rank",
            "Add the offset of the rank to the classes: `torch.arange(n) + dist.get_rank() * n`, for n rows on each rank.",
            analysis.places(
                (found.loss, "compared here"),
                (found.numbered, "counted from 0 here"),
                (found.joined, "rows of all ranks put together here"),
            ),
            (scores,),
            ops=(found.loss.index,),
        )
