"""AG305: gradients that are clipped after each of the backwards that one step is to use together."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.protocol import brought_forward
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clipped_each_time import clipped_with_each_backward
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def clipped_each_time(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that clips: what it clips is the sum so far, and the next backward adds to that."""
    for read, run, step, tensors in clipped_with_each_backward(analysis):
        names = names_of(analysis, tensors)
        yield Problem(
            "warning",
            f"the gradients of {summarize_names(names)} are clipped after each of several backward() calls that belong to one "
            "step(): each time the sum so far is scaled down, and the last backward() counts most",
            "Clip once, after the last backward() and right before step().",
            analysis.places(
                (read, "clipped each time here"),
                (run, "next backward() adds to it here"),
                (step, "step() uses the sum here"),
            ),
            tuple(names),
            cures=tuple(brought_forward(analysis, read.site, step.site)),
        )
