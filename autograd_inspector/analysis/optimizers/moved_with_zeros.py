"""Parameters that the program means to hold still by zeros in their gradients, and that a step moves all the same.

Zeros are a gradient: the averages of earlier ones go on, and weight decay pulls. What has no gradient is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis, line_of
from autograd_inspector.analysis.gradients.memory import zeroed_in_place
from autograd_inspector.analysis.optimizers.moved_by_momentum import has_average
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.placement_rows import OptimizerRecord
from autograd_inspector.model.settings import is_off

_KNOWN = "torch.optim."
"""Where optimizers come from of which it is known what a gradient of zeros does."""
_FEWEST = 2
"""Steps in which the same line zeroed them: once may be a gradient that is not finite, or a round that is left out."""


class MovedWithZeros(Struct, frozen=True):
    """``steps`` moved ``tensors``, whose gradients the line of ``zeroed`` had filled with zeros after backward.

    ``averages``: by what earlier gradients have left; else by weight decay alone.
    """

    optimizer: OptimizerRecord
    tensors: tuple[int, ...]
    steps: tuple[Step, ...]
    zeroed: Op
    averages: bool


def moved_with_zeros(analysis: Analysis) -> Iterator[MovedWithZeros]:
    """Each optimizer and line once, where the same steps use the gradients of other parameters as they are."""
    capture = analysis.capture
    having = {(row.optimizer, row.tensor) for row in capture.placement.rows if has_average(row)}
    for optimizer in capture.placement.optimizers:
        if not optimizer.module.startswith(_KNOWN):
            continue
        found: dict[object, list[tuple[Step, ParameterStep, Op]]] = {}
        learnt: set[int] = set()
        for step in analysis.timeline.steps_of(optimizer.id).all:
            zeroed = {} if step.error or step.computed else _zeroed(analysis, step)
            if zeroed and any(p.gradient >= 0 and p.tensor not in zeroed for p in step.parameters):
                for p in step.parameters:
                    op, averages = zeroed.get(p.tensor), p.tensor in learnt and (optimizer.id, p.tensor) in having
                    if op is not None and _moves(optimizer, step, p, averages=averages):
                        found.setdefault(line_of(analysis, op.site), []).append((step, p, op))
            learnt.update(p.tensor for p in step.parameters if p.gradient >= 0 and p.tensor not in zeroed)
        for members in found.values():
            steps = {step.at: step for step, _, _ in members}
            if len(steps) >= _FEWEST:
                yield MovedWithZeros(
                    optimizer,
                    tuple(dict.fromkeys(p.tensor for _, p, _ in members)),
                    tuple(steps.values()),
                    members[-1][2],
                    any((optimizer.id, p.tensor) in having and p.tensor in learnt for _, p, _ in members),
                )


def _zeroed(analysis: Analysis, step: Step) -> dict[int, Op]:
    """Parameter -> what filled its gradient with zeros, after the last backward had computed it and before the step."""
    since = next((s.at for s in analysis.timeline.steps_of(step.optimizer).before(step.start)), -1)
    zeroed: dict[int, Op] = {}
    for p in step.parameters:
        run = next(analysis.timeline.backwards_to(p.tensor).before(step.start + 1), None)
        if p.gradient >= 0 and not p.frozen and run is not None and run.end > since:
            op = zeroed_in_place(analysis, [p.gradient], run.end, step.start)
            if op is not None:
                zeroed[p.tensor] = op
    return zeroed


def _moves(optimizer: OptimizerRecord, step: Step, p: ParameterStep, *, averages: bool) -> bool:
    """Whether the step moves it: by averages of its own, which it has from before, or by weight decay."""
    if p.version_after <= p.version_before or step.rate(p) == 0 or not 0 <= p.group < len(optimizer.groups):
        return False
    group = optimizer.groups[p.group]
    driven = averages and ("betas" in group or not is_off(group.get("momentum")))
    return driven or not is_off(group.get("weight_decay"))
