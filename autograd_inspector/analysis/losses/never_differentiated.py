"""Losses that a step waits for, and that backward() was never called on."""

from __future__ import annotations

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.analysis.losses_without_backward import waiting
from autograd_inspector.model.autograd import Backward
from autograd_inspector.model.event import Step


def finds_nothing(analysis: Analysis, step: Step, last: Backward | None) -> bool:
    """Whether the step meets no gradient, or zeros alone that another loss's gradients were cleared to."""
    end = 0 if last is None else last.end
    return all(p.gradient < 0 or zeroed_in_place(analysis, [p.gradient], end, step.at) for p in step.parameters)


def waited(analysis: Analysis, tensors: set[int]) -> bool:
    """Whether no backward ran at all, or a loss of these waited for one in vain and no cut explains that."""
    if not analysis.capture.backwards:
        return True
    explained = analysis.replaced_by_leaves.union(*(cut.parameters for cut in analysis.harmful_cuts))
    return not tensors & (explained | analysis.in_graph_without_gradient) and any(
        True for _ in waiting(analysis.capture, tensors)
    )
