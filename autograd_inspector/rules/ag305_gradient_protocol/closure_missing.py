"""A step() without the closure that its optimizer needs, to compute the loss more than once."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.optimizers.names import variable
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.torch_errors import TorchError, says


def closure_missing(analysis: Analysis) -> Iterator[Problem]:
    """step() raised for want of a closure."""
    for step in analysis.capture.steps[-1:]:
        if not says(step.error, TorchError.CLOSURE_MISSING):
            continue
        optimizer = analysis.capture.placement.optimizers[step.optimizer]
        name = variable(analysis, optimizer)
        yield Problem(
            "error",
            f"{optimizer.type}.step() was called without a closure: it computes the loss and its gradients several times in "
            "one step",
            f"Define a function that clears the gradients, computes the loss, calls backward() and returns the loss, and "
            f"pass it: `{name}.step(closure)`.",
            analysis.places((step, "step() called here"), (optimizer, "optimizer made here")),
            (optimizer.type, "closure"),
            ops=(step.op,),
        )
