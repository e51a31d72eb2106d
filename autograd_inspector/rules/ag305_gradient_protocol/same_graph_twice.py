"""AG305 where one graph is differentiated twice from the same outputs, and a step uses the sum: twice the gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.same_graph_twice import same_graph_twice
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies, Remove
from autograd_inspector.model.wording import agree, summarize_names


def added_twice(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each pair of lines that add the same gradients."""
    for step, first, second, tensors in same_graph_twice(analysis, sources):
        names = names_of(analysis, tensors)
        record = analysis.capture.tensors[second.roots[0]] if second.roots else None
        loss = f"`{record.variable}`" if record is not None and record.variable else "one loss"
        yield Problem(
            "warning",
            f"backward() ran twice on {loss} before the step, so step() uses twice the gradient of {summarize_names(names)}: "
            f"each run adds the same gradient to {agree(names, 'its', 'their')} .grad",
            "Remove one of the two backward() calls. If the first one has another purpose (a norm, a penalty), use torch.autograd.grad(), which does not write to .grad, or clear the gradients between the two.",
            analysis.places(
                (second, "the same gradients added again here"),
                (first, "first added here"),
                (step, "step() uses the sum here"),
            ),
            tuple(names),
            ops=(step.op,),
            cures=tuple(_once(analysis, first, second)),
        )


def _once(analysis: Analysis, first: Backward, second: Backward) -> Iterator[Remedies]:
    """The second of two calls is left out; where both are one line there is nothing to leave out."""
    places = [analysis.capture.place(run.site) for run in (second, first)]
    if first.site != second.site:
        yield from ((Remove(place),) for place in places if place is not None)
