"""AG413: a learning rate that is set by hand, and that the scheduler overwrites in its next step."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.overwritten_rates import overwritten_rates
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def overwritten(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each optimizer."""
    for found in overwritten_rates(analysis):
        kind, group = found.overwritten.type, found.group
        names = names_of(analysis, found.optimizer.parameters[group])
        steps = f"{len(found.steps)} {agree(found.steps, 'step', 'steps')}"
        freeze = (
            " To stop the training of the group instead, freeze its parameters: `p.requires_grad_(False)` and `p.grad = None`."
            if not found.given
            else ""
        )
        yield Problem(
            "warning",
            f"the lr {found.given:.3g} that the program sets for {summarize_names(names)} is used for {steps} only: {kind}.step() "
            f"computes the lr from its own schedule, and overwrites it with {found.after:.3g}",
            f"Change what the scheduler computes from as well: `scheduler.base_lrs[{group}] = ...`, or stop calling its step()."
            f"{freeze}",
            analysis.places(
                *((line, "lr set here") for line in found.lines),
                (found.overwritten, "overwritten by the scheduler here"),
                (found.later, "step() called here, with the scheduler's lr"),
                (found.optimizer, "optimizer created here"),
            ),
            ("lr", kind, *names),
            ops=(found.later.op,),
        )
