"""AG406: an optimizer that goes on stepping although everything that it holds was frozen, and stays so."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.modules.parameter_origins import frozen_here
from autograd_inspector.analysis.optimizers.frozen_while_stepping import frozen_while_stepping
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def frozen_for_good(analysis: Analysis) -> Iterator[Problem]:
    """A discriminator that is frozen for the generator's turn, and not unfrozen for its own."""
    for found in frozen_while_stepping(analysis):
        names = names_of(analysis, found.optimizer.held)
        them, count = agree(names, "it", "them"), len(found.steps)
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen and never unfrozen, so the last {count} steps of "
            f"{variable(analysis, found.optimizer)} update nothing: no parameter that it holds requires grad",
            f"Call requires_grad_(True) on {them} before the loss that trains {them} is computed; or remove the step() calls "
            "after which nothing moves.",
            (
                *frozen_here(analysis, found.optimizer.held),
                *analysis.places((found.steps[-1], "step() updates nothing here")),
            ),
            tuple(names),
            ops=(found.steps[-1].op,),
        )
