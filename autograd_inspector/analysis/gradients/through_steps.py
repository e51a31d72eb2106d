"""Ways from a tensor to a loss that lead through a step of an optimizer, which autograd does not record."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


def step_between(analysis: Analysis, run: Backward, tensor: int) -> Step | None:
    """The last step that moved weights, which the roots of ``run`` were computed with, by gradients of a loss with ``tensor``."""
    starts = [(root, run.start) for root in run.roots]
    read = {operand for op, _ in analysis.flow.upstream(starts) for operand in op.inputs}
    for step in reversed([step for step in analysis.capture.steps if step.at < run.start and not step.error]):
        moved = read.intersection(p.tensor for p in step.parameters if p.gradient >= 0)
        if any(
            moved.intersection(each.reached) and _computed_from(analysis, each, tensor)
            for each in _before(analysis, step)
        ):
            return step
    return None


def _before(analysis: Analysis, step: Step) -> list[Backward]:
    """The backwards since the step of the same optimizer that came before."""
    previous = next(analysis.timeline.steps_of(step.optimizer).before(step.at), None)
    return list(analysis.timeline.backwards.within(0 if previous is None else previous.at + 1, step.at))


def _computed_from(analysis: Analysis, run: Backward, tensor: int) -> bool:
    starts = [(root, run.start) for root in run.roots]
    return any(tensor in op.inputs for op, _ in analysis.flow.upstream(starts))
