"""AG106: a branch that was frozen while it was zero: no input of it is trainable, and it adds nothing."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.zero_factors import zero_factors
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.parameter_origins import frozen_here, made_here
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def frozen_at_zero(analysis: Analysis) -> Iterator[Problem]:
    """One finding for all that one line froze: a hint, unless an optimizer that steps was given them to train."""
    for factors in grouped(
        zero_factors(analysis), lambda found: analysis.lifecycle.frozen([found.tensor])[-1].site
    ).values():
        tensors = [found.tensor for found in factors]
        names = names_of(analysis, tensors)
        them = agree(names, "it", "them")
        stepped = {step.optimizer for step in analysis.capture.steps}
        held = [o for o in analysis.capture.placement.holding(tensors) if o.id in stepped]
        yield Problem(
            "warning" if held else "info",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen while all of {agree(names, 'its', 'their')} values "
            f"are zero: `{factors[0].product.name}` returns zeros at every step, so this branch contributes nothing and is never "
            f"trained{f', although {held[0].type} holds {them}' if held else ''}",
            f"If the branch is an adapter, let {them} require grad, and give {them} to the optimizer: check the names that "
            "select the frozen parameters.",
            (
                *frozen_here(analysis, tensors),
                *analysis.places((factors[0].product, "multiplied by zeros here")),
                *made_here(analysis, tensors),
                *analysis.places(*((optimizer, "passed to the optimizer here") for optimizer in held[:1])),
            ),
            tuple(names),
            ops=(factors[0].product.index,),
        )
