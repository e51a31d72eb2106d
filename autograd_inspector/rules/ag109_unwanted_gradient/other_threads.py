"""AG109: grad mode is each thread's own, so `no_grad` here leaves it on in the threads of a pool."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.grouping import grouped
from autograd_inspector.analysis.modules.called_elsewhere import recorded_elsewhere
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def in_other_threads(analysis: Analysis) -> Iterator[Problem]:
    """One finding for all parameters that calls of the same place used."""
    for group in grouped(
        recorded_elsewhere(analysis.capture), lambda found: (found.event.site, found.event.made)
    ).values():
        event, run = group[0].event, group[0].run
        tensors = sorted({tensor for found in group for tensor in found.tensors})
        names = names_of(analysis, tensors)
        yield Problem(
            "warning",
            f"backward reaches {summarize_names(names)}, because {event.type} was called in another thread while "
            f"{event.switch} was active in this one: grad mode is each thread's own, and it was on there",
            "Switch grad mode off in the function that the other thread runs: decorate it with @torch.no_grad(). Or detach() "
            "what it returns, or freeze the parameters with requires_grad_(False).",
            analysis.places(
                (event, "called in another thread here"),
                (event.waiting, "this thread waits here"),
                (event.made, "grad mode disabled here, for this thread"),
                (run, "backward called here"),
            ),
            tuple(names),
        )
