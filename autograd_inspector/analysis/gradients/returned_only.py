"""Gradients that were returned and read, and never stored in ``.grad``: no step of the optimizer has any."""

from __future__ import annotations

from collections import Counter

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step

TRANSFORM = "torch.func"
"""The record of what a transform returns."""


def returned_only(analysis: Analysis, step: Step, since: int, trainable: set[int]) -> Backward | None:
    """The run that returned them, since the step before; None where anything ever stored one or moved a parameter.

    torch.func differentiates with respect to copies of the parameters: they are known by their shapes.
    """
    capture = analysis.capture
    steps = analysis.timeline.steps_of(step.optimizer).all
    if any(p.gradient >= 0 for each in steps for p in each.parameters):
        return None
    if not analysis.received_gradient.isdisjoint(trainable) or not trainable.isdisjoint(
        write.tensor for write in capture.grad_writes
    ):
        return None
    for run in analysis.timeline.runs.within(since + 1, step.at):
        if _returns(analysis, run, trainable) and not _moved(analysis, trainable, run.end):
            return run
    return None


def transformed(analysis: Analysis, run: Backward) -> bool:
    """Whether a transform of torch.func asked for the gradients."""
    capture = analysis.capture
    outputs = capture.ops[run.start].outputs if run.start < len(capture.ops) else ()
    return any(capture.ops[at].name == TRANSFORM for tensor in outputs for at in capture.readers.get(tensor, ()))


def _returns(analysis: Analysis, run: Backward, trainable: set[int]) -> bool:
    if run.api != "grad" or run.error or run.nested_in >= 0:
        return False
    if not run.create_graph:
        return trainable <= {*run.reached}
    shapes = (Counter(analysis.capture.tensors[t].shape for t in tensors) for tensors in (run.reached, trainable))
    given, own = shapes
    return transformed(analysis, run) and given == own


def _moved(analysis: Analysis, trainable: set[int], start: int) -> bool:
    """Whether anything wrote one of the parameters since: an update by hand."""
    tensors, end = analysis.capture.tensors, len(analysis.capture.ops)
    return any(True for t in trainable for _ in analysis.writes_to(tensors[t].storage, t, start, end))
