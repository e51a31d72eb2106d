"""AG108 where a custom backward computes a gradient with what another call of the Function kept."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.mixed_calls import mixed_calls
from autograd_inspector.model.finding import Problem


def mixing(analysis: Analysis) -> Iterator[Problem]:
    """One finding for each Function."""
    ops = analysis.capture.ops
    for found in mixed_calls(analysis):
        name = found.event.function
        where = ((found.made, "made in another call here"),) if found.made is not None else ()
        yield Problem(
            "error",
            f"{name}.backward computes the gradient of one call with a tensor of another call of {name}: each call of forward "
            "stores its tensor in the same place, and backward of an earlier call reads the tensor of a later one",
            f"Save what backward needs for each call: `ctx.save_for_backward(...)` in {name}.forward, and `ctx.saved_tensors` in "
            f"{name}.backward.",
            analysis.places(
                *where,
                (found.read, "used in backward here"),
                (ops[found.event.applied], "applied here"),
                (ops[found.event.kept_by], "applied again here"),
            ),
            (name,),
            ops=(found.event.applied, found.event.kept_by),
        )
