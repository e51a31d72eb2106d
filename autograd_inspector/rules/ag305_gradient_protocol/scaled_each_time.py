"""AG305 where the accumulated gradients are scaled after each backward(): early parts are scaled several times."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.scaled_sums import ScaledSum, scaled_sums
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def scaled_each_time(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line that scales."""
    for found in scaled_sums(analysis, sources):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: ScaledSum) -> Problem:
    names = names_of(analysis, found.tensors)
    return Problem(
        "warning",
        f"`{found.op.name}` scales the {agree(names, 'gradient', 'gradients')} of {summarize_names(names)} after each of "
        f"{found.times} backward() calls that add up before the step: what the first one added is scaled {found.times} "
        "times, what the last one added once",
        "Scale the loss before backward(), or the gradients once, right before step().",
        analysis.places((found.op, "scaled after each backward() here"), (found.step, "step() uses the sum here")),
        (*names, found.op.name),
        ops=(found.op.index, found.step.op),
    )
