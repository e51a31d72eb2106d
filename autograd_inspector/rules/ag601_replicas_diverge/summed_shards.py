"""AG601 where the shards of a gradient, of which each rank has another part, are summed over the ranks."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.shards import shards_summed
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def summed_shards(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    found = next(shards_summed(analysis.capture, analysis.timeline, analysis.reductions), None)
    if found is not None:
        names = names_of(analysis, found.tensors)
        yield Problem(
            "error",
            f"{found.call.name} sums gradient shards of {summarize_names(names)} over {found.call.world} ranks, although each rank "
            "holds a different part of the gradient: it adds unrelated elements, and every rank steps its part with the result",
            "Remove the call: backward() of a sharded model averages the gradients over the ranks, and distributes them.",
            analysis.places((found.call, f"{found.call.name} called here"), (found.step, "step() called here")),
            tuple(names),
            ops=(found.call.at, found.step.op),
        )
