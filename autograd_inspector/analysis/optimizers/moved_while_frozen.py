"""Parameters that do not require grad, and that a step moves all the same, by what is left in their ``.grad``."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.analysis.gradients.memory import scales, writes_into, zeroed_in_place
from autograd_inspector.model.event import ParameterStep, Step
from autograd_inspector.model.op import Op
from autograd_inspector.model.settings import Settings, is_off

_KNOWN = "torch.optim"
"""Where optimizers come from of which it is known what a gradient of zeros does."""


class Moved(Struct, frozen=True):
    """A frozen parameter that a step wrote to; ``zeroed`` filled its gradient with zeros, ``drives`` go on with those."""

    tensor: int
    step: Step
    zeroed: Op | None
    drives: tuple[str, ...]


def moved_while_frozen(analysis: Analysis) -> tuple[list[Moved], list[Moved]]:
    """(those with a gradient of zeros, those that kept an old gradient)."""
    moved_parameters: dict[int, Moved] = {}
    ends: dict[int, list[int]] = {}
    for run in analysis.capture.backwards:
        for tensor in run.reached:
            ends.setdefault(tensor, []).append(run.end)
    groups = {
        (optimizer.id, tensor): number
        for optimizer in analysis.capture.placement.optimizers
        for number, held in enumerate(optimizer.parameters)
        for tensor in held
    }
    last: dict[int, int] = {}
    for step in analysis.capture.steps:
        for p in step.parameters:
            moved = (
                None
                if p.tensor in moved_parameters
                else _moved(analysis, step, p, groups.get((step.optimizer, p.tensor), -1), ends.get(p.tensor, ()))
            )
            if moved is not None and not _meant(analysis, moved, p.gradient, last.get(p.tensor, 0)):
                moved_parameters[p.tensor] = moved
            last[p.tensor] = step.at
    zeros = [moved for moved in moved_parameters.values() if moved.zeroed is not None]
    stale = [moved for moved in moved_parameters.values() if moved.zeroed is None]
    return zeros, stale


def _moved(analysis: Analysis, step: Step, p: ParameterStep, number: int, ends: Sequence[int]) -> Moved | None:
    if p.gradient < 0 or p.version_after <= p.version_before or not analysis.capture.tensors[p.tensor].leaf:
        return None
    if analysis.lifecycle.requires_grad_at(p.tensor, step.at):
        return None
    since = max((end for end in ends if end <= step.at), default=0)
    zeroed = zeroed_in_place(analysis, [p.gradient], since, step.at)
    optimizer = analysis.capture.placement.optimizers[step.optimizer]
    drives = _drives(optimizer.groups[number]) if 0 <= number < len(optimizer.groups) else ()
    still = 0 <= number < len(step.rates) and step.rates[number] == 0
    rests = still or (zeroed is not None and not drives and optimizer.module.startswith(_KNOWN))
    return None if rests else Moved(p.tensor, step, zeroed, drives)


def _meant(analysis: Analysis, moved: Moved, gradient: int, since: int) -> bool:
    """Whether the program made this gradient itself, or thaws the parameter for each backward and freezes it again.

    Evolution strategies, local rules and float32 masters of a model in half precision step what requires no grad.
    """
    if moved.zeroed is not None:
        return False
    end = moved.step.at
    gradient_assigned = any(
        w.tensor == moved.tensor and w.gradient >= 0 and since <= w.at <= end for w in analysis.capture.grad_writes
    )
    written = any(not scales(op) for op, _ in writes_into(analysis, gradient, since, end))
    return gradient_assigned or written or bool(analysis.lifecycle.unfrozen([moved.tensor]))


def _drives(group: Settings) -> tuple[str, ...]:
    """What moves a parameter whose gradient is zero."""
    momentum = not is_off(group.get("momentum")) or "betas" in group
    return ("momentum",) * momentum + ("weight decay",) * (not is_off(group.get("weight_decay")))
