"""AG601 where a stage of a pipeline sends back the gradients of several micro-batches as that of one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.pipelines import sent_again
from autograd_inspector.model.finding import Problem


def sums_sent_back(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first of them."""
    for found in sent_again(analysis.capture, analysis.timeline, analysis.reductions):
        name, call = name_of(analysis, found.leaf), found.call
        yield Problem(
            "error",
            f"{call.name} sends the gradient of {name} to rank {call.peer}, and it still holds what was sent before: backward() adds to "
            f"{name}.grad, so rank {call.peer} counts earlier micro-batches again",
            f"Set `{name}.grad = None` before each backward(), or receive each micro-batch into a new tensor.",
            analysis.places(
                (call, "sum sent here"), (found.earlier, "sent before here"), (found.run, "added to it here")
            ),
            (name,),
            ops=(call.at,),
        )
