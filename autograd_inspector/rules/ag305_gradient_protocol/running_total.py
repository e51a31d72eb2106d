"""AG305 where a running total is differentiated again and again before the step: its first terms count several times."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.running_totals import RunningTotal, running_totals
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import summarize_names


def counted_again(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line that differentiates."""
    for found in running_totals(analysis, sources):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: RunningTotal) -> Problem:
    names = names_of(analysis, found.tensors)
    last = found.runs[-1]
    record = analysis.capture.tensors[last.roots[0]] if last.roots else None
    total = f"`{record.variable}`" if record is not None and record.variable else "a sum of losses"
    return Problem(
        "warning",
        f"backward() ran {len(found.runs)} times before the step on {total}, which grows by a term each time: the first "
        f"term is differentiated {len(found.runs)} times, and step() uses the sum of all these gradients of "
        f"{summarize_names(names)}",
        "Call backward() on the new term alone, in each iteration, or once on the sum, after the loop.",
        analysis.places((last, "differentiated again here"), (found.step, "step() uses the sum here")),
        tuple(names),
        ops=(found.step.op,),
    )
