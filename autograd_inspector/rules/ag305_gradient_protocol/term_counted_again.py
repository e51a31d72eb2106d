"""AG305 where a loss that grows is differentiated each time it has grown: its first terms count several times."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.sources import GradientSources
from autograd_inspector.analysis.losses.growing import LossTerms, growing_losses
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies, SetArgument, Substitute
from autograd_inspector.model.wording import summarize_names


def counted_again(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each line of backward() that goes through the terms of an earlier one once more."""
    losses = LossTerms(analysis)
    for step, runs, tensors in growing_losses(analysis, sources, losses):
        yield _problem(analysis, step, runs, tensors, losses)


def _problem(analysis: Analysis, step: Step, runs: list[Backward], tensors: list[int], losses: LossTerms) -> Problem:
    names, last = names_of(analysis, tensors), runs[-1]
    total = analysis.capture.tensors[last.roots[0]].variable
    new = losses.new_term(runs[-2], last)
    alone = f"`{new}.backward()`" if new else "backward() on the new term alone"
    return Problem(
        "warning",
        f"backward() ran {len(runs)} times before the step on {f'`{total}`' if total else 'a sum of losses'}, which grows by "
        f"a term each time: the first term is differentiated {len(runs)} times, and step() uses the sum of all these "
        f"gradients of {summarize_names(names)}",
        f"Call {alone}, or call backward() once, when the sum is complete.",
        analysis.places(
            (last, "differentiated again here"),
            (runs[0] if runs[0].site != last.site else None, "its first terms were differentiated here"),
            (step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(_new_term_alone(analysis, last, total, new)),
    )


def _new_term_alone(analysis: Analysis, run: Backward, total: str, new: str) -> Iterator[Remedies]:
    place = analysis.capture.place(run.site)
    if place is not None and total and new:
        without = (SetArgument(place, "backward", "retain_graph", ""),) if run.retain_graph else ()
        yield (Substitute(place, total, new), *without)
