"""Which optimizer a parameter would belong to, and which never have anything to step."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.placement_rows import OptimizerRecord


def is_idle(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether none of its parameters required grad, or had a gradient, at any step of the capture."""
    steps = analysis.timeline.steps_of(optimizer.id).all
    return any(step.parameters for step in steps) and not any(
        p.gradient >= 0 or analysis.lifecycle.requires_grad_at(p.tensor, step.at)
        for step in steps
        for p in step.parameters
    )


def served_alone(analysis: Analysis, optimizer: OptimizerRecord) -> bool:
    """Whether each of its steps came after a backward of its own: no other optimizer stepped with that one's gradients."""
    capture = analysis.capture
    runs = [run for run in capture.completed_runs if run.nested_in < 0]
    by_run: dict[int, set[int]] = {}
    for step in capture.steps:
        place = bisect_right(runs, step.start, key=lambda run: run.end) - 1
        by_run.setdefault(place, set()).add(step.optimizer)
    own = [steppers for place, steppers in by_run.items() if optimizer.id in steppers and place >= 0]
    return bool(own) and all(len(steppers) == 1 for steppers in own)


def are_bare(analysis: Analysis, tensors: Iterable[int]) -> bool:
    """Whether none of them belongs to a module: an image, a prompt, a perturbation."""
    return not any(analysis.capture.tensors[t].names for t in tensors)


def stepped_in_vain(analysis: Analysis, tensors: Iterable[int]) -> OptimizerRecord | None:
    """The optimizer that steps next after a backward reached these tensors, where none of its own has a gradient then."""
    capture, reached = analysis.capture, set(tensors)
    in_vain = set()
    for run in capture.backwards:
        if not run.completed or reached.isdisjoint(run.reached):
            continue
        following = bisect_left(capture.steps, run.end, key=lambda step: step.start)
        step = capture.steps[following] if following < len(capture.steps) else None
        if step is not None and step.parameters and all(p.gradient < 0 for p in step.parameters):
            in_vain.add(step.optimizer)
    return capture.placement.optimizers[in_vain.pop()] if len(in_vain) == 1 else None


def nearest(analysis: Analysis, tensors: Iterable[int]) -> OptimizerRecord | None:
    """The optimizer of those that step which has the most other parameters of the same models; None where none has any."""
    capture = analysis.capture
    roots = {capture.owners.get(tensor, -1) for tensor in tensors} - {-1}
    shares = {
        optimizer.id: sum(capture.owners.get(tensor, -1) in roots for tensor in set(optimizer.held))
        for optimizer in capture.placement.optimizers
        if optimizer.steps
    }
    best = max(reversed(shares), key=shares.__getitem__, default=-1)
    return capture.placement.optimizers[best] if shares.get(best) else None
