"""AG305 where `autograd.grad` is called in the place of backward(), and the gradients that it returns are dropped."""

from __future__ import annotations

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.callers import first_argument
from autograd_inspector.analysis.gradients.unstored import unstored
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.remedy import Operand
from autograd_inspector.model.wording import agree, summarize_names


def gradients_not_stored(analysis: Analysis, step: Step, since: int, trainable: set[int]) -> Problem | None:
    """The finding about a step that meets none of the gradients which were computed for it."""
    run = unstored(analysis, step, since, trainable)
    if run is None:
        return None
    names = names_of(analysis, (tensor for tensor in run.reached if tensor in trainable))
    variable = first_argument(analysis.capture.place(run.site)) if len(run.roots) == 1 else ""
    variable = variable or (analysis.capture.tensors[run.roots[0]].variable if run.roots else "")
    loss = variable if variable.isidentifier() else "loss"
    return Problem(
        "warning",
        f"torch.autograd.grad returns the gradients of {summarize_names(names)}, and nothing uses them: .grad stays None, "
        f"and step() does not move {agree(names, 'it', 'them')}",
        f"Call {loss}.backward(), which stores the gradients in .grad; or assign what torch.autograd.grad returns: "
        "`p.grad = g` for each parameter.",
        analysis.places((run, "gradients computed and dropped here"), (step, "step() without gradients")),
        tuple(names),
        ops=(step.op,),
        cures=tuple(
            (Operand(place, "whole", f"{loss}.backward()"),)
            for place in analysis.user_frames(run.site, "")[:1]
            if variable == loss
        ),
    )
