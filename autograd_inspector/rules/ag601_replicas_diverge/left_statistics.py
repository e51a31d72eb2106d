"""AG601 where ranks average the weights of a layer, and leave its running statistics as each has estimated them."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.left_statistics import left_statistics
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def statistics_left(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that exchanges weights."""
    for found in left_statistics(analysis.capture, analysis.reductions):
        call, names = found.call, names_of(analysis, found.buffers)
        yield Problem(
            "warning",
            f"{call.name} exchanges the weights of a layer, but not its {agree(names, 'buffer', 'buffers')} "
            f"{summarize_names(names)}, which each rank estimates from its own batches: in eval mode the ranks compute "
            "different results with the same weights",
            "Average the buffers too: loop over `[*model.parameters(), *model.buffers()]` and leave out integer tensors.",
            analysis.places((call, "weights exchanged here"), (found.estimated, "estimated here")),
            tuple(names),
            ops=(call.at, found.estimated.index),
        )
