"""AG305 where the program leaves out a step after a look at the gradients, and does not clear them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.refused_batches import refused_batches
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.program_events import RoundLeft
from autograd_inspector.model.wording import summarize_names


def refused_batch(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line of a backward()."""
    for found in refused_batches(analysis):
        names = names_of(analysis, sorted({*found.run.reached} & {*found.following.stale}))
        left = [event for event in analysis.capture.events_of(RoundLeft) if event.made == found.run.site]
        yield Problem(
            "warning",
            f"the program reads the gradients of {summarize_names(names)} and then skips both step() and zero_grad(): the next "
            "backward() adds to the gradients of the skipped batch",
            "Clear the gradients where the step is left out: call `optimizer.zero_grad()` there, or at the beginning of each iteration.",
            analysis.places(
                *((event, "iteration left here") for event in left[:1]),
                (found.asked, "checked here, no step() follows"),
                (found.following, "backward adds to these gradients here"),
                (found.step, "step() uses both here"),
                (None if found.step is not None else found.usual, "step() follows each other backward()"),
            ),
            tuple(names),
            ops=(found.asked.index,),
        )
