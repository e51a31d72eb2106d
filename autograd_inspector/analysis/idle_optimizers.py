"""Optimizers that never have anything to step."""

from __future__ import annotations

from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.placement_rows import OptimizerRecord


def is_idle(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether none of its parameters required grad, or had a gradient, at any step of the capture."""
    steps = [step for step in analysis.capture.steps if step.optimizer == optimizer.id]
    return any(step.parameters for step in steps) and not any(
        p.gradient >= 0 or analysis.lifecycle.requires_grad_at(p.tensor, step.at)
        for step in steps
        for p in step.parameters
    )


def are_bare(analysis: Analysis, tensors: Iterable[int]) -> bool:
    """Whether none of them belongs to a module: an image, a prompt, a perturbation."""
    return not any(analysis.capture.tensors[t].names for t in tensors)
