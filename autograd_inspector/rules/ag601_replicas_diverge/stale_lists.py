"""AG601 where ranks average weights from a list that is older than the model's layers."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.stale_lists import stale_lists
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, counted, summarize_names


def replaced_averaged(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that exchanges."""
    for found in stale_lists(analysis.capture, analysis.reductions):
        names, call = names_of(analysis, found.left), found.call.name
        yield Problem(
            "warning",
            f"{call} exchanges {counted(len(found.gone), 'parameter')} that the model no longer has, and not "
            f"{summarize_names(names)}, which each rank trains by itself: the list of parameters is older than "
            f"{agree(names, 'this layer', 'these layers')}",
            "Take the parameters from the model whenever the ranks exchange them: `for p in model.parameters():`. Or make the list "
            "after the last change to the model.",
            analysis.places((found.call, f"{call} called here"), (found.step, "step() called here")),
            tuple(names),
            ops=(found.call.at, found.step.op),
        )
