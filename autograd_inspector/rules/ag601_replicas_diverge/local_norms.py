"""AG601 where each rank scales its shards of the gradients by a number that it computed from them alone."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.shards import ScaledAlone, scaled_alone
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def scaled_by_local_norms(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    found = next(scaled_alone(analysis.capture, analysis.timeline, analysis.reductions), None)
    if found is not None:
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: ScaledAlone) -> Problem:
    names = names_of(analysis, found.tensors)
    return Problem(
        "warning",
        f"`{found.write.name}` scales the gradient shards of {summarize_names(names)} by a number that is computed from the "
        "shards of this rank only: each rank has another one, so parts of one gradient are scaled differently",
        "Combine the numbers of all ranks first: call all_reduce on the sum of squares before its root. Or call "
        "`torch.nn.utils.clip_grad_norm_(model.parameters(), limit)`, which does so for sharded parameters.",
        analysis.places(
            (found.write, "scaled here"), (found.read, "number computed here"), (found.step, "step() called here")
        ),
        tuple(names),
        ops=(found.write.index, found.step.op),
    )
