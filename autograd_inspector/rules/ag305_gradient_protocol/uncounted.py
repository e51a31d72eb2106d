"""AG305: means of micro-batches whose gradients add up, where a library left the division to the program."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.names import short_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.uncounted import Uncounted, uncounted
from autograd_inspector.model.finding import Problem


def not_counted(analysis: Analysis) -> Iterator[Problem]:
    """One finding, about the first step of that kind."""
    for found in uncounted(analysis):
        yield _problem(analysis, found)


def _problem(analysis: Analysis, found: Uncounted) -> Problem:
    number, optimizer = len(found.runs), analysis.capture.placement.optimizers[found.step.optimizer]
    place = analysis.capture.place(found.mean.site)
    function = found.unread.function if found.unread is not None else place.function if place is not None else ""
    argument = found.unread.argument if found.unread is not None else ""
    given = f", and passes the number to {short_name(function)} as {argument}" if argument else ""
    by = f"by `{argument}`" if argument else "by the number of items in all micro-batches"
    return Problem(
        "warning",
        f"{optimizer.type} steps with the sum of the gradients of {number} micro-batches, and each loss is a mean over one: "
        f"the library counts the items of all {number}{given}, but nothing divides by it",
        f"Add the loss up over the items and divide it {by}, or divide the mean by the number of micro-batches.",
        analysis.places(
            (found.mean, "mean over a micro-batch taken here"),
            (found.count, "items of all micro-batches counted here"),
            (found.step, "step() uses the sum here"),
        ),
        tuple(filter(None, (short_name(function), argument))),
        ops=(found.mean.index, found.step.op),
    )
