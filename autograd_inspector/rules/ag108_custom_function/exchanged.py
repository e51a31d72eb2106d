"""AG108 where a custom backward returns two gradients of one shape in each other's place."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.exchanged_returns import exchanged_returns
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.rewrites import SwapReturned


def exchanging(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each pair."""
    capture = analysis.capture
    for found in exchanged_returns(analysis):
        name = found.event.function
        places = found.event.places
        one, other, revealing, stray = (places[at] for at in (found.one, found.other, found.revealing, found.stray))
        defined = capture.function_sites.get(name, -1)
        yield Problem(
            "error",
            f"{name}.backward returns the gradients for arguments {one + 1} and {other + 1} of forward in each other's place: "
            f"the derivative with respect to argument {revealing + 1} does not depend on the value of argument {stray + 1}, "
            "but the gradient returned for it does",
            f"Return the gradients in the order of the arguments of {name}.forward.",
            analysis.places((defined, "gradients returned here"), (capture.ops[found.event.applied], "applied here")),
            (name,),
            ops=(found.event.applied,),
            cures=tuple((SwapReturned(place, one, other),) for place in analysis.user_frames(defined, "")[:1]),
        )
