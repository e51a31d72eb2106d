"""What the program writes to clear gradients."""

from __future__ import annotations

from autograd_inspector.advice.remedies.protocol import optimizer_name
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.model.event import Step


def clearing_call(analysis: Analysis, step: Step, before: int) -> str:
    """The call that clears a step's gradients elsewhere, the last one before a moment: `opt.zero_grad()`."""
    tensors = [parameter.tensor for parameter in step.parameters]
    for call in reversed(clearings(analysis, tensors, 0, before)):
        place = analysis.capture.place(call.site)
        if place is not None and place.expression.endswith(")") and "\n" not in place.expression:
            return place.expression
    return f"{optimizer_name(analysis, step)}.zero_grad()"
