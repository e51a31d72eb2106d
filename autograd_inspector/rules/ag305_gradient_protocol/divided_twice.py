"""AG305: a loss that is divided by the micro-batches of an accumulation twice, by the program and by a library."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.undivided import undivided
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.divided_twice import DividedTwice
from autograd_inspector.analysis.gradients.divided_twice import divided_twice as found_twice
from autograd_inspector.model.finding import Problem


def divided_twice(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each line: a hint where the number may count something else."""
    for found in found_twice(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: DividedTwice) -> Problem:
    number, library = f"{found.own.number:g}", found.library.by
    place = analysis.capture.place(found.own.site)
    name = (place.assigned or place.target) if place is not None else ""
    also = f"`{library}` divides it by {number}, too, for the {number} backward() calls of a step"
    doubt = "" if found.sure else f", unless this {number} counts something else"
    return Problem(
        "warning" if found.sure else "info",
        f"{name or 'the loss'} is divided by {number}, and {also}: the gradients are {number} times smaller than "
        f"the mean over the micro-batches{doubt}",
        f"Do not divide the loss: {library} does.",
        analysis.places(
            (found.own, "divided here"),
            (found.library, "divided again here"),
            (found.step, "step() uses the sum here"),
        ),
        (name or "loss", library),
        ops=(found.own.at, found.library.at, found.step.op),
        cures=tuple(undivided(place)),
    )
