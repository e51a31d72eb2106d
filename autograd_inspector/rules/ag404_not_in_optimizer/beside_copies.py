"""AG404 where the loss trains a copy of a model, and the optimizer of the model itself is stepped."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.stepped_beside_copies import stepped_beside_copies
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def beside_copies(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that steps."""
    for found in stepped_beside_copies(analysis):
        names, last = names_of(analysis, found.copies), found.steps[-1]
        optimizer = analysis.capture.placement.optimizers[last.optimizer]
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'gets', 'get')} the gradients, and {agree(names, 'is a copy', 'are copies')} of "
            f"what {optimizer.type} holds: its {len(found.steps)} steps here find no gradient and move nothing, and nothing clears "
            f"the gradients of the {agree(names, 'copy', 'copies')}",
            "Build an optimizer for the copied model, and call its step().",
            analysis.places(
                (last, "step() finds no gradient here"),
                (found.run, "gradients of the copies computed here"),
                (found.copied, "copied here"),
                (optimizer, "optimizer created here"),
            ),
            (*names, optimizer.type),
            ops=(last.op,),
        )
