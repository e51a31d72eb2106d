"""AG305: gradients that are divided after each of the backwards that one step uses together."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.advice.remedies.meeting import meeting
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.scaled_each_time import scaled_with_each_backward
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.remedy import Again, Remedies, Remove
from autograd_inspector.model.wording import summarize_names


def scaled_each_time(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line: what it scales is the sum so far, and the next backward adds to that."""
    for step, ops, tensors in scaled_with_each_backward(analysis, sources):
        names = names_of(analysis, tensors)
        again = next(run for run in analysis.capture.backwards if run.start > ops[0].index)
        yield Problem(
            "warning",
            f"`{ops[0].name}` scales the gradients of {summarize_names(names)} after each of {len(ops)} backward() calls "
            f"that belong to one step(): what the first one added is scaled {len(ops)} times, what the last one added once",
            "Scale them once, after the last backward() and before step(), or scale each loss instead.",
            analysis.places(
                (ops[-1], "scaled each time here"),
                (again, "next backward() adds to it here"),
                (step, "step() uses the sum here"),
            ),
            tuple(names),
            ops=(step.op,),
            cures=tuple(_once(analysis, ops[-1], step)),
        )


def _once(analysis: Analysis, last: Op, step: Step) -> Iterator[Remedies]:
    """The statement that scales stands before the step, in no loop of its own any more."""
    pair = meeting(analysis, last.site, step.site)
    if pair is not None:
        yield Again(*pair), Remove(pair[0])
