"""AG406: parameters that were frozen for good, thawed with what was frozen for a while."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.analysis.optimizers.thawed_with_others import thawed_with_others
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def thawed_too_far(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that thaws."""
    for found in thawed_with_others(analysis):
        names = names_of(analysis, found.tensors)
        optimizer = variable(analysis, analysis.capture.placement.optimizers[found.step.optimizer])
        them = agree(names, "it", "them")
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen before other parameters of the model were frozen for "
            f"a while; the line that unfreezes these again also unfreezes {them}, and {optimizer}.step() updates {them} from then on",
            "Unfreeze only what was not frozen before: keep `old = [p.requires_grad for p in module.parameters()]` when you "
            "freeze, and set each parameter back to its old value.",
            analysis.places(
                (found.thawed, "unfrozen with the others here"),
                (found.frozen, "frozen here before"),
                (found.switched, "the others frozen here"),
                (found.step, "step() updates here what was frozen"),
            ),
            tuple(names),
            ops=(found.step.op,),
        )
