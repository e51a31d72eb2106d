"""AG601 where an outer step begins from weights that each rank has moved by itself."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.outer_steps import steps_from_own
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def outer_steps(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    for found in steps_from_own(analysis.capture, analysis.timeline, analysis.reductions):
        names, kind = names_of(analysis, found.tensors), _kind(analysis, found.step.optimizer)
        yield Problem(
            "error",
            f"{kind} adds the same change on every rank to {summarize_names(names)}, but an earlier step() had already moved "
            f"{agree(names, 'it', 'them')} by gradients of this rank only: the ranks stay as far apart as before, and the replicas diverge",
            "Copy the weights that all ranks started from back into the parameters before this step: `p.data.copy_(start)`. Or "
            "give them to this optimizer, and copy its result into the model.",
            analysis.places(
                (found.step, "step() called here"),
                (found.call, f"{found.call.name} called here"),
                (found.reached.step, "moved by gradients of this rank here"),
            ),
            tuple(names),
            ops=(found.step.op, found.call.at),
        )


def _kind(analysis: Analysis, optimizer: int) -> str:
    return analysis.capture.placement.optimizers[optimizer].type
