"""Places and names that findings about replicas share."""

from __future__ import annotations

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.ranks.causes import Unreduced
from autograd_inspector.model.location import Location


def names_in_order(analysis: Analysis, found: Unreduced) -> list[str]:
    """The names of the parameters, in the order of the optimizer."""
    order = {parameter.tensor: place for place, parameter in enumerate(found.first.step.parameters)}
    return names_of(analysis, sorted(found.tensors, key=lambda tensor: order.get(tensor, len(order))))


def steps_here(analysis: Analysis, found: Unreduced) -> tuple[Location, ...]:
    """The backward and the step."""
    return analysis.places((found.first.run, "backward() called here"), (found.first.step, "step() called here"))


def called_at(analysis: Analysis, found: Unreduced, role: str) -> tuple[Location, ...]:
    """The call of the program's outermost module that used the parameters for that backward."""
    capture = analysis.capture
    used = (analysis.reductions.wrapper_calls.used_by(tensor, found.first.run) for tensor in found.tensors)
    op = next((op for op in used if op is not None), None)
    if op is None:
        return ()
    call = capture.model_call_of(op)
    return analysis.user_frames(call.site if call is not None and call.site >= 0 else op.site, role)
