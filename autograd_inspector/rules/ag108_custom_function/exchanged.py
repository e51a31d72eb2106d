"""AG108 where a custom backward returns two gradients of one shape in each other's place."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.advice.remedies.at_line import at_line
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.asked_within import asked_in_another_order
from autograd_inspector.analysis.gradients.exchanged_returns import exchanged_returns
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.op import Op
from autograd_inspector.model.program_events import GradientsReturned
from autograd_inspector.model.rewrites import SwapReturned


def exchanging(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each pair."""
    for found in exchanged_returns(analysis):
        revealing, stray = (found.event.places[at] + 1 for at in (found.revealing, found.stray))
        because = (
            f"the derivative with respect to argument {revealing} does not depend on the value of argument {stray}, "
            "but the gradient returned for it does"
        )
        yield _problem(analysis, found.event, found.one, found.other, because)
    for asked in asked_in_another_order(analysis):
        one, other = (asked.event.places[at] + 1 for at in (asked.one, asked.other))
        because = f"the one that it returns for argument {one} is the one that torch.autograd.grad() computed for argument {other}"
        yield _problem(analysis, asked.event, asked.one, asked.other, because, asked.asked)


def _problem(
    analysis: Analysis, event: GradientsReturned, first: int, second: int, because: str, asked: Op | None = None
) -> Problem:
    capture, name = analysis.capture, event.function
    one, other = event.places[first], event.places[second]
    defined = capture.function_sites.get(name, -1)
    return Problem(
        "error",
        f"{name}.backward returns the gradients for arguments {one + 1} and {other + 1} of forward in each other's place: "
        f"{because}",
        f"Return the gradients in the order of the arguments of {name}.forward.",
        analysis.places(
            (defined, "gradients returned here"),
            *((op, "gradients computed here") for op in (asked,) if op is not None),
            (capture.ops[event.applied], "applied here"),
        ),
        (name,),
        ops=(event.applied,),
        cures=at_line(analysis, defined, lambda place: SwapReturned(place, one, other)),
    )
