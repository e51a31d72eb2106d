"""AG305 where gradients are returned, and processed, and not stored in `.grad` for the step."""

from __future__ import annotations

from autograd_inspector.advice.naming import names_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.returned_only import returned_only, transformed
from autograd_inspector.model.event import Step
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.wording import agree, summarize_names


def gradients_only_returned(analysis: Analysis, step: Step, since: int, trainable: set[int]) -> Problem | None:
    """The finding about a step that meets no gradient, because nothing stored those that were returned."""
    run = returned_only(analysis, step, since, trainable)
    if run is None:
        return None
    names = names_of(analysis, sorted(trainable))
    by = "a transform of torch.func" if transformed(analysis, run) else "torch.autograd.grad"
    kind = analysis.capture.placement.optimizers[step.optimizer].type
    return Problem(
        "warning",
        f"{kind} finds no gradient in any step: {by} returns the gradients of {summarize_names(names)}, and nothing stores them in "
        f".grad, so step() does not move {agree(names, 'it', 'them')}",
        "Store the gradients before step(): `p.grad = g` for each parameter.",
        analysis.places((step, "step() without gradients"), (run, "gradients returned here")),
        tuple(names),
        ops=(step.op,),
    )
