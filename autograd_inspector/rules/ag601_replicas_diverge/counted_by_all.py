"""AG601 where a sum of losses is divided by a count of all ranks, and the wrapper divides by the ranks again."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.counts import divided_by_all
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def counted_by_all(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    for found in divided_by_all(analysis.capture, analysis.reductions):
        names, kind, world = names_of(analysis, found.tensors), found.wrapper.type, found.wrapper.world
        yield Problem(
            "warning",
            f"the loss is divided by a number that {found.call.name} sums over {world} ranks, and {kind} averages the "
            f"{agree(names, 'gradient', 'gradients')} of {summarize_names(names)} over them once more: the step is {world} times smaller "
            "than in a single process with all the data",
            "Multiply the loss by the number of ranks (`loss * dist.get_world_size() / count`), or divide the count by it: the "
            "average over the ranks then gives the mean over all the data.",
            analysis.places(
                (found.by, "divided here"),
                (found.call, f"{found.call.name} called here"),
                (found.reached.step, "step() called here"),
            ),
            tuple(names),
            ops=(found.by.index, found.reached.step.op),
        )
