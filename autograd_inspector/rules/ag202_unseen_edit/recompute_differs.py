"""AG202 where checkpointing notices by itself that the recomputation was another one than the forward."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import where_made
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.unseen_edits.recomputed_otherwise import parted_recomputations
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op


def recomputed_otherwise(analysis: Analysis) -> Iterator[Problem]:
    """The first op of the recomputation that is not the one that the forward ran."""
    for run, before, after in parted_recomputations(analysis):
        yield _finding(analysis, run, before, after)


def _finding(analysis: Analysis, run: Backward, before: Op, after: Op) -> Problem:
    one, other = where_made(analysis, before), where_made(analysis, after)
    return Problem(
        "error",
        f"the recomputation differs from the forward: the forward called {one} where the recomputation called {other}"
        if one != other
        else f"the recomputation differs from the forward: {one} returned something else",
        "The checkpointed function must depend only on its arguments and on parameters, not on a counter, cache, mode or autocast that differs in backward.",
        analysis.places((before, "in the forward"), (after, "in the recomputation"), (run, "backward called here")),
        (before.name, after.name),
        ops=(before.index, after.index),
    )
