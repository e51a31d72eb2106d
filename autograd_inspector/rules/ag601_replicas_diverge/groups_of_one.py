"""AG601 where gradients are reduced over a process group that has no rank but this one."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.alone import reduced_alone
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def groups_of_one(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each call, and each wrapper."""
    for found in reduced_alone(analysis.capture, analysis.reductions):
        names = names_of(analysis, found.tensors)
        yield Problem(
            "warning",
            f"{found.by.api} reduces {agree(names, 'the gradient', 'the gradients')} of {summarize_names(names)} over a process "
            f"group with this rank only, of {analysis.capture.world_size} ranks: nothing is averaged, so the replicas diverge",
            "Pass the group of all ranks that hold a replica, or omit the group: the default group has every rank.",
            analysis.places((found.by, f"{found.by.api} called here"), (found.reached.step, "step() called here")),
            tuple(names),
            ops=(found.reached.step.op,),
        )
