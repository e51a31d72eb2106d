"""Parameters that a step moves although no loss reached them since zero_grad(): it left zeros, and momentum does the rest.

A parameter whose gradient is None is skipped by a step; zeros are a gradient, and the averages of earlier ones go on.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.clearing import clearings
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord, ParameterRow


class MovedByMomentum(Struct, frozen=True):
    """``steps`` moved ``tensors`` with the zeros that ``zeroed``, a call of zero_grad(), had left in their gradients."""

    optimizer: OptimizerRecord
    tensors: tuple[int, ...]
    steps: tuple[Step, ...]
    zeroed: Op


def moved_by_momentum(analysis: Analysis) -> Iterator[MovedByMomentum]:
    """Each optimizer once, where its steps also move what a loss did reach. Ranks may have added to the zeros."""
    capture = analysis.capture
    if capture.world_size > 1 or capture.history.folded:
        return
    having = {(row.optimizer, row.tensor) for row in capture.placement.rows if has_average(row)}
    for optimizer in capture.placement.optimizers if having else ():
        tensors: dict[int, None] = {}
        steps: list[Step] = []
        zeroed: Op | None = None
        since = 0
        for step in analysis.timeline.steps_of(optimizer.id).all:
            moved = {
                p.tensor: op
                for p in step.parameters
                if (optimizer.id, p.tensor) in having and (op := _left_at_zero(analysis, since, step, p)) is not None
            }
            since = step.at + 1
            if moved and not step.error and _reaches_others(analysis, step, moved):
                tensors |= dict.fromkeys(moved)
                steps.append(step)
                zeroed = zeroed or next(iter(moved.values()))
        if zeroed is not None:
            yield MovedByMomentum(optimizer, tuple(tensors), tuple(steps), zeroed)


def has_average(row: ParameterRow) -> bool:
    """Whether its state has a tensor like it: an average of gradients, as a rule."""
    return any(entry.shape == row.shape and row.shape for entry in row.state)


def _left_at_zero(analysis: Analysis, since: int, step: Step, p: ParameterStep) -> Op | None:
    """The op of a zero_grad() that is the last word on its gradient, which a backward of an earlier round had filled."""
    if p.gradient < 0 or p.frozen or p.begun or p.version_after <= p.version_before:
        return None
    zeroed = zeroed_in_place(analysis, [p.gradient], 0, step.start)
    runs = analysis.timeline.backwards_to(p.tensor)
    if zeroed is None or not any(True for _ in runs.before(since)) or any(True for _ in runs.within(since, step.start)):
        return None
    line = line_of(analysis, zeroed.site)
    calls = clearings(analysis, [p.tensor], 0, step.start)
    return zeroed if any(line_of(analysis, call.site) == line for call in calls) else None


def _reaches_others(analysis: Analysis, step: Step, moved: dict[int, Op]) -> bool:
    since = min(op.index for op in moved.values())
    return any(
        p.gradient >= 0
        and p.tensor not in moved
        and any(True for _ in analysis.timeline.backwards_to(p.tensor).within(since, step.start))
        for p in step.parameters
    )
