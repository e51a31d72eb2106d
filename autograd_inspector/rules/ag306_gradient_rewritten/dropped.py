"""AG306 where the program drops the gradients of some parameters between backward() and step(), at every step.

It may be meant: a layer is kept from moving for the first epochs like that. So it is worth seeing, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.left_out import left_out
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.dropped_each_time import dropped_in_each_step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def dropped_each_time(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that drops."""
    for site, tensors, step in dropped_in_each_step(analysis):
        names = names_of(analysis, tensors)
        yield Problem(
            "info",
            f"the gradients of {summarize_names(names)} are dropped between backward() and step(), at every step: "
            f"{agree(names, 'it does', 'they do')} not move",
            f"Remove that line if {agree(names, 'it is', 'they are')} to learn. To freeze {agree(names, 'it', 'them')}, set "
            "requires_grad to False, which saves the computation as well.",
            analysis.places((site, "gradients dropped here"), (step, "step() without them here")),
            tuple(names),
            ops=(step.op,),
            cures=tuple(left_out(analysis, site)),
        )
