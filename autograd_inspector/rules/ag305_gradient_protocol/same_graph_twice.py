"""AG305 where one graph is differentiated twice from the same outputs, and a step uses the sum: twice the gradient."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.scaled_losses import scaled_by
from autograd_inspector.analysis.gradients.sources import Contribution, GradientSources
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Remedies, Remove
from autograd_inspector.model.wording import agree, summarize_names


def added_twice(analysis: Analysis, sources: GradientSources) -> Iterator[Problem]:
    """One finding for each pair of lines that add the same gradients."""
    told: set[tuple[int, int]] = set()
    for step in analysis.capture.steps:
        twice: dict[tuple[int, int], tuple[Contribution, Contribution, list[int]]] = {}
        for consumed in () if step.error else sources.of(step):
            before: dict[tuple[tuple[int, ...], tuple[int, ...]], Contribution] = {}
            for second in consumed.contributions if len(consumed.contributions) > 1 else ():
                first = before.setdefault(_begun(analysis, second.run), second)
                if first is not second and second.run.graph.roots:
                    key = first.run.index, second.run.index
                    twice.setdefault(key, (first, second, []))[2].append(consumed.tensor)
        for first, second, tensors in twice.values():
            sites = first.run.site, second.run.site
            if sites not in told:
                told.add(sites)
                yield _problem(analysis, step, first.run, second.run, tensors)


def _begun(analysis: Analysis, run: Backward) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The nodes that a run began at, and the gradients of the outputs that the program gave.

    Runs that have both in common go through one graph with the same gradient; so do those that a GradScaler's scale of
    one loss began, for each of which it is scaled anew.
    """
    scaled = scaled_by(analysis, run)
    return (scaled.inputs if scaled is not None else run.graph.roots), run.weights


def _problem(analysis: Analysis, step: Step, first: Backward, second: Backward, tensors: list[int]) -> Problem:
    names = names_of(analysis, tensors)
    record = analysis.capture.tensors[second.roots[0]] if second.roots else None
    loss = f"`{record.variable}`" if record is not None and record.variable else "one loss"
    return Problem(
        "warning",
        f"backward() ran twice on {loss} before the step, so step() uses twice the gradient of {summarize_names(names)}: "
        f"each run adds the same gradient to {agree(names, 'its', 'their')} .grad",
        "Remove one of the two backward() calls. If the first one has another purpose (a norm, a penalty), use torch.autograd.grad(), which does not write to .grad, or clear the gradients between the two.",
        analysis.places(
            (second, "the same gradients added again here"),
            (first, "first added here"),
            (step, "step() uses the sum here"),
        ),
        tuple(names),
        ops=(step.op,),
        cures=tuple(_once(analysis, first, second)),
    )


def _once(analysis: Analysis, first: Backward, second: Backward) -> Iterator[Remedies]:
    """The second of two calls is left out; where both are one line there is nothing to leave out."""
    places = [analysis.capture.place(run.site) for run in (second, first)]
    if first.site != second.site:
        yield from ((Remove(place),) for place in places if place is not None)
