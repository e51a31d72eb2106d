"""AG109: the weight of a loss term is a parameter, and the optimizer trains it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.weights import LossWeight, loss_weights
from autograd_inspector.analysis.modules.parameter_origins import made_here
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import IntoBuffer


def trained_weights(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each."""
    for found in loss_weights(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: LossWeight) -> Problem:
    name = name_of(analysis, found.tensor)
    attribute = name.rpartition(".")[2]
    return Problem(
        "warning",
        f"{found.optimizer.type} trains {name}, which only weighs a term of the loss: the loss is linear in {name}, so a "
        "lower weight is all that its gradient asks for, and nothing ends that where the term is positive",
        f"Keep the weight out of the parameters: a float, or `register_buffer({attribute!r}, ...)`. To learn a "
        "weight, give it a second term (`exp(-s) * term + s`); a Lagrange multiplier needs an optimizer with maximize=True.",
        (
            *made_here(analysis, [found.tensor]),
            *analysis.places((found.op, "weighs a term here"), (found.optimizer, "given to the optimizer here")),
        ),
        (name,),
        ops=(found.op.index,),
        cures=tuple((IntoBuffer(place),) for place in made_here(analysis, [found.tensor])[:1]),
    )
