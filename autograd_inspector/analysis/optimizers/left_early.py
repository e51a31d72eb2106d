"""Optimizers whose steps end at the first parameter without a gradient, so that those behind it never move."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.program_events import StepLeftEarly

_FEWEST = 2
"""An optimizer may hold its parameters back once on purpose."""


class LeftEarly(Struct, frozen=True):
    """``tensors`` had gradients in ``steps``, in which ``gap`` in front of them had none, and no step moved them."""

    optimizer: OptimizerRecord
    event: StepLeftEarly
    steps: tuple[Step, ...]
    tensors: tuple[int, ...]
    gap: int


def left_early(analysis: Analysis) -> Iterator[LeftEarly]:
    """One for each optimizer of which all steps that meet such a parameter end there."""
    events = analysis.capture.events_of(StepLeftEarly)
    for optimizer in analysis.capture.placement.optimizers:
        own = [event for event in events if event.optimizer == optimizer.id]
        ends = {event.at for event in own}
        steps = [step for step in analysis.timeline.steps_of(optimizer.id).all if not step.error]
        passed = (step for step in steps if step.op not in ends)
        if len(own) >= _FEWEST and not any(map(_goes_on, passed)):
            moved = {p.tensor for step in steps for p in step.parameters if p.version_after > p.version_before}
            behind = dict.fromkeys(tensor for event in own for tensor in event.tensors if tensor not in moved)
            if behind:
                ended = tuple(step for step in steps if step.op in ends)
                gap = next((p.tensor for step in ended for p in step.parameters if p.gradient < 0), -1)
                yield LeftEarly(optimizer, own[-1], ended, tuple(behind), gap)


def _goes_on(step: Step) -> bool:
    """Whether it moved a parameter behind one without a gradient."""
    gap = next((place for place, p in enumerate(step.parameters) if p.gradient < 0), len(step.parameters))
    return any(p.gradient >= 0 and p.version_after > p.version_before for p in step.parameters[gap:])
