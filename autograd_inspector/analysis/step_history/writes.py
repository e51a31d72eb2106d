"""What one optimizer step did: to which parameters it wrote, to which it did not and why."""

from __future__ import annotations

from msgspec import Struct

from autograd_inspector.model.capture import Capture
from autograd_inspector.model.event import ParameterStep, Step

AT_ZERO = "the lr of its group is 0"


class StepWrites(Struct, frozen=True):
    """Told by what was seen when the step ran, by version counters: values are not read.

    ``unseen``: with a gradient, in a group of which the step moved no counter at all. A fused step writes like that,
    and so does one that writes through ``.data``; a step that does nothing looks the same.
    ``still``: reason -> the parameters that stayed; ``gradients``: whose ``.grad`` the step changed in place.
    """

    written: tuple[int, ...]
    unseen: tuple[int, ...]
    still: dict[str, tuple[int, ...]]
    gradients: tuple[int, ...]


def writes_of(capture: Capture, step: Step) -> StepWrites:
    """What became of each parameter that the step was given."""
    written: list[int] = []
    unseen: list[int] = []
    still: dict[str, list[int]] = {}
    for parameter in step.parameters:
        why = _stayed(capture, step, parameter)
        if why:
            still.setdefault(why, []).append(parameter.tensor)
        else:
            (written if parameter.group in step.counted else unseen).append(parameter.tensor)
    return StepWrites(
        tuple(written),
        tuple(unseen),
        {why: tuple(tensors) for why, tensors in still.items()},
        tuple(p.tensor for p in step.parameters if p.gradient_after > p.gradient_before >= 0),
    )


def _stayed(capture: Capture, step: Step, parameter: ParameterStep) -> str:
    """Why the step left it as it was, "" when it did not, or when that cannot be seen."""
    if parameter.gradient < 0 and not step.error:
        return _ungraded(capture, step, parameter)
    reasons = {
        "the step raised": bool(step.error),
        "its state is on meta, which has no data": parameter.dataless,
        AT_ZERO: step.rate(parameter) == 0,
        "the step did not write to it": parameter.version_after == parameter.version_before
        and parameter.group in step.counted,
    }
    return next((why for why, holds in reasons.items() if holds), "")


def _ungraded(capture: Capture, step: Step, parameter: ParameterStep) -> str:
    """Why it had no gradient."""
    if parameter.frozen:
        return "frozen"
    if step.closure and not any(step.start <= run.start < step.at for run in capture.backwards):
        return "the closure did not call backward()"
    return "no gradient"
