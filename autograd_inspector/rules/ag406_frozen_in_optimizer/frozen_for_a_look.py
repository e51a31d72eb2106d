"""AG406: parameters that a function froze in order to differentiate with respect to something else, and left frozen."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.frozen_for_a_look import frozen_for_a_look
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def frozen_past_the_look(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that freezes."""
    for found in frozen_for_a_look(analysis):
        names, function = names_of(analysis, found.tensors), short_name(found.function)
        them = agree(names, "it", "them")
        yield Problem(
            "warning",
            f"{summarize_names(names)} {agree(names, 'was', 'were')} frozen in a call of `{function}`, which computes a gradient "
            f"of something else, and never unfrozen: the last {len(found.steps)} steps of {variable(analysis, found.optimizer)} "
            f"do not update {them}",
            f"Restore requires_grad at the end of `{function}`: call requires_grad_(True) on all parameters that it froze.",
            analysis.places(
                (found.frozen, "frozen here"),
                (found.asked, "the other gradient computed here"),
                (found.steps[-1], f"step() does not update {them} here"),
            ),
            tuple(names),
            ops=(found.steps[-1].op,),
        )
