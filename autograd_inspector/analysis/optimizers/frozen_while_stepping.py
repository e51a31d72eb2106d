"""Optimizers that go on stepping after all that they hold was frozen, and never thawed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.event import Step
from autograd_inspector.model.placement_rows import OptimizerRecord

_FEWEST = 2
"""So many steps with everything frozen are no end of a phase."""


class FrozenWhileStepping(Struct, frozen=True):
    """``steps``: those since all of ``optimizer``'s parameters are frozen, which it had trained before."""

    optimizer: OptimizerRecord
    steps: tuple[Step, ...]


def frozen_while_stepping(analysis: Analysis) -> Iterator[FrozenWhileStepping]:
    """Each optimizer once. One that found gradients left over moves them, and is no idle one."""
    for optimizer in analysis.capture.placement.optimizers:
        steps = analysis.timeline.steps_of(optimizer.id).all
        idle = tuple(takewhile(_all_frozen, reversed(steps)))[::-1]
        if len(idle) >= _FEWEST and _trained(analysis, optimizer, tuple(steps[: len(steps) - len(idle)])):
            yield FrozenWhileStepping(optimizer, idle)


def _all_frozen(step: Step) -> bool:
    parameters = step.parameters
    return not step.error and bool(parameters) and all(p.frozen and p.gradient < 0 for p in parameters)


def _trained(analysis: Analysis, optimizer: OptimizerRecord, before: tuple[Step, ...]) -> bool:
    """Whether it moved them, as long as they required grad; of folded steps the freezing tells."""
    if any(p.gradient >= 0 and not p.frozen for step in before for p in step.parameters):
        return True
    return any(change.folded for change in analysis.lifecycle.frozen(optimizer.held))
