"""AG413: updates that a forward, or another line of the program, overwrites before the next loss is computed."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.lost_updates import (
    LostUpdates,
    RoundedUpdates,
    lost_updates,
    rounded_updates,
)
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, join_names, summarize_names


def overwritten_updates(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each function that overwrites."""
    for found in lost_updates(analysis):
        yield _problem(analysis, found)
    for rounded in rounded_updates(analysis):
        yield _rounded(analysis, rounded)


def _problem(analysis: Analysis, found: LostUpdates) -> Problem:
    names = names_of(analysis, found.tensors)
    by = join_names(dict.fromkeys(f"`{op.name}`" for op in found.writes))
    return Problem(
        "warning",
        f"the updates of {summarize_names(names)} are lost: after each of {len(found.steps)} steps, {by} overwrites "
        f"{agree(names, 'it', 'them')} with other values before anything is computed with the updated ones",
        "Initialize a parameter once, before the first step: record in a buffer that it is done, and check the buffer "
        "first. If each forward computes the values, use the computed tensor in the forward, and leave the parameter out.",
        analysis.places(
            *((op, "overwritten here") for op in found.writes), (found.steps[0], "updated here, without effect")
        ),
        tuple(names),
        ops=(found.writes[0].index,),
    )


def _rounded(analysis: Analysis, found: RoundedUpdates) -> Problem:
    """A hint: a step may be longer than the grid is wide."""
    names = names_of(analysis, found.tensors)
    return Problem(
        "info",
        f"the result of `{found.rounded.name}` overwrites {summarize_names(names)} after each of {len(found.steps)} steps: an "
        f"update that does not reach the next {agree(names, 'value', 'values')} of the grid is lost",
        f"Keep the parameter as it is, and compute with the rounded values: `q = w + ({found.rounded.name.rstrip('_')}(w) - w).detach()`.",
        analysis.places(
            (found.write, "overwritten here"), (found.rounded, "rounded here"), (found.steps[0], "updated here")
        ),
        tuple(names),
        ops=(found.write.index,),
    )
