"""AG301 where `autograd.grad` gave None for what the loss does not use, and the program went on with it as a gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.failed_reads import unused_by_the_last
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import SetArgument
from autograd_inspector.model.wording import agree, join_names, summarize_names


def none_of_grad(analysis: Analysis) -> Iterator[Problem]:
    """At most one: the last `autograd.grad` before the program ended."""
    found = unused_by_the_last(analysis.capture, lambda run: frozenset(analysis.leaves.of(run.graph.roots)))
    if found is None:
        return
    run, missing = found
    names, roots = names_of(analysis, missing), join_names(names_of(analysis, run.roots), 2)
    yield Problem(
        "error",
        f"torch.autograd.grad returned None for {summarize_names(names)}: {roots} was not computed from "
        f"{agree(names, 'it', 'them')}, and the program uses the None as a gradient",
        "Skip the parameters without a gradient: `p if g is None else p - lr * g`. Or pass materialize_grads=True, which gives zeros instead.",
        analysis.places(
            (run, "gradients requested here, with allow_unused"),
            (analysis.capture.error_site, "used as a gradient here"),
        ),
        tuple(names),
        cures=tuple(
            (SetArgument(place, "grad", "materialize_grads", "True"),)
            for place in analysis.user_frames(run.site, "")[:1]
        ),
    )
