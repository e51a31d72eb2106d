"""AG109: the weight of a loss term is a parameter, and the optimizer trains it."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.losses.weights import loss_weights
from autograd_inspector.analysis.modules.parameter_origins import made_here
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import IntoBuffer


def trained_weights(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each."""
    for found in loss_weights(analysis):
        name = name_of(analysis, found.tensor)
        attribute = name.rpartition(".")[2]
        yield Problem(
            "warning",
            f"{found.optimizer.type} trains {name}, which only weights a term of the loss: the loss is linear in {name}, so its gradient keeps lowering the weight as long as the term is positive",
            f"Do not make the weight a parameter: use a float, or `register_buffer({attribute!r}, ...)`. To learn a weight, add a second term (`exp(-s) * term + s`); a Lagrange multiplier needs an optimizer with maximize=True.",
            (
                *made_here(analysis, [found.tensor]),
                *analysis.places((found.op, "weights a term here"), (found.optimizer, "given to the optimizer here")),
            ),
            (name,),
            ops=(found.op.index,),
            cures=tuple((IntoBuffer(place),) for place in made_here(analysis, [found.tensor])[:1]),
        )
