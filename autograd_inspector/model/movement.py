"""What one optimizer step did: which parameters it moved, which it did not and why."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterStep, Step


class Movement(Struct, frozen=True):
    """``still``: reason -> the parameters that stayed; ``gradients``: whose ``.grad`` the step changed in place."""

    moved: tuple[int, ...]
    still: dict[str, tuple[int, ...]]
    gradients: tuple[int, ...]


def movement_of(capture: Capture, step: Step) -> Movement:
    """By version counters and metadata; a fused step bumps no counter, so there a gradient counts as a move."""
    moved: list[int] = []
    still: dict[str, list[int]] = {}
    rates = _rates(capture, step)
    meta = _state_without_data(capture, step)
    for parameter in step.parameters:
        why = _stayed(capture, step, parameter, rates.get(parameter.tensor, -1.0), meta)
        if why:
            still.setdefault(why, []).append(parameter.tensor)
        else:
            moved.append(parameter.tensor)
    return Movement(
        tuple(moved),
        {why: tuple(tensors) for why, tensors in still.items()},
        tuple(p.tensor for p in step.parameters if p.gradient_after > p.gradient_before >= 0),
    )


def _stayed(capture: Capture, step: Step, parameter: ParameterStep, rate: float, meta: frozenset[int]) -> str:
    """Why the step did not move it, "" when it did."""
    if parameter.gradient < 0 and not step.error:
        return _ungraded(capture, step, parameter.tensor)
    reasons = {
        "the step raised": bool(step.error),
        "its state is on meta, which has no data": parameter.tensor in meta,
        "its group's lr is 0": rate == 0,
        "the step did not write to it": parameter.version_after == parameter.version_before and not step.unseen,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _ungraded(capture: Capture, step: Step, tensor: int) -> str:
    """Why it had no gradient."""
    if not _required_grad(capture, tensor, step.at):
        return "frozen"
    if step.closure and not any(step.start <= run.start < step.at for run in capture.backwards):
        return "the closure ran no backward"
    return "no gradient"


def _required_grad(capture: Capture, tensor: int, at: int) -> bool:
    """Whether it required grad just then: by the last change before, else as it was at the end."""
    changes = capture.changes_of.get(tensor, ())
    before = [change.requires_grad for change in changes if change.at <= at]
    if before:
        return before[-1]
    return not changes[0].requires_grad if changes else capture.tensors[tensor].requires_grad


def _rates(capture: Capture, step: Step) -> dict[int, float]:
    groups = capture.placement.optimizers[step.optimizer].parameters
    return {tensor: rate for group, rate in zip(groups, step.rates, strict=False) for tensor in group}


def _state_without_data(capture: Capture, step: Step) -> frozenset[int]:
    return frozenset(
        row.tensor
        for row in capture.placement.rows_of.get(step.optimizer, ())
        if row.device != "meta" and any(e.device == "meta" for e in row.state)
    )
