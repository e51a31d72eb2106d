"""AG601 where a loss is computed with a sum that another rank has got."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.left_over import left_over
from autograd_inspector.model.finding import Problem


def left_over_used(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line that calls one."""
    for found in left_over(analysis.capture, analysis.reductions):
        call, name = found.call, name_of(analysis, found.tensor)
        yield Problem(
            "warning",
            f"{call.name} gives its result to rank {call.peer} only, but the loss of rank {analysis.capture.rank} is computed with {name} behind it, which "
            "holds no sum there: the ranks train on different losses",
            f"Call all_reduce instead of {call.name}: it leaves the sum on every rank.",
            analysis.places((call, f"{call.name} called here"), (found.run, "backward() called here")),
            (call.name, name),
            ops=(call.at,),
        )
