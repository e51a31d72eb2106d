"""Gradients that `autograd.grad` returned and that nothing took: no backward has stored any for the step behind it."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


def unstored(analysis: Analysis, step: Step, since: int, trainable: set[int]) -> Backward | None:
    """The run that computed them, since the step before; None where this step met a gradient, or anything took one.

    What is read of them, or assigned to ``.grad``, is taken: it serves something.
    """
    if any(p.gradient >= 0 for p in step.parameters) or not analysis.received_gradient.isdisjoint(trainable):
        return None
    runs = analysis.timeline.runs.within(since + 1, step.at)
    return next((run for run in runs if trainable & {*run.reached} and _nothing_took(analysis, run)), None)


def _nothing_took(analysis: Analysis, run: Backward) -> bool:
    capture = analysis.capture
    if run.api != "grad" or run.error or run.create_graph or run.nested_in >= 0 or run.start >= len(capture.ops):
        return False
    results = {*capture.ops[run.start].outputs}
    assigned = {write.gradient for write in capture.grad_writes}
    return bool(results) and results.isdisjoint(assigned) and not any(capture.readers.get(each) for each in results)
