"""AG304: where values that are too large come from: the weights, the data, or a step."""

from __future__ import annotations

import math

from msgspec import Struct

from autograd_inspector.advice.naming import name_of
from autograd_inspector.analysis.analysis import Analysis
from autograd_inspector.model.location import Location
from autograd_inspector.model.op import Op
from autograd_inspector.model.values import Range, ValueFault
from autograd_inspector.model.wording import counted

_SPACED = {"float16": 2.0**11, "bfloat16": 2.0**8, "float32": 2.0**24, "float64": 2.0**53}
"""The number from which on a dtype leaves out integers: what has got there has lost its last whole place."""


class Size(Struct, frozen=True):
    """Why the values that an op was given are as large as they are, and what to do; ``fix`` "": what helps the op."""

    why: str
    fix: str
    places: tuple[Location, ...] = ()


def size_of(analysis: Analysis, fault: ValueFault, op: Op) -> Size | None:
    """What is known of the size of an op's finite inputs, where one is so large that its dtype leaves out integers."""
    capture = analysis.capture
    large = [values for values in fault.inputs if _is_beyond(analysis, values)]
    if not large or not all(values.finite for values in fault.inputs):
        return None
    reached = f"{max(values.size for values in large):.2g}"
    if not fault.weights:
        return Size(f": its input reaches {reached}", "")
    weights = fault.weights[0]
    name = name_of(analysis, weights.tensor)
    if not _is_beyond(analysis, weights):
        return Size(
            f": its input reaches {reached}, and no parameter is larger than {weights.size:.2g} ({name})",
            f"Look for an outlier in the data (`batch.abs().max()`), or scale it: {capture.tensors[large[0].tensor].dtype} "
            "cannot represent the result of this op.",
        )
    why = f": its input reaches {reached}, and {name} reaches {weights.size:.2g}"
    holder = next((optimizer for optimizer in capture.placement.optimizers if weights.tensor in optimizer.held), None)
    steps = [step for step in capture.steps if holder and step.optimizer == holder.id and step.at < op.index]
    if holder is None or not (steps or capture.history.folded):
        return Size(why, "Start with smaller weights, or scale the data.")
    return Size(
        why if capture.history.folded else f"{why} after {counted(len(steps), 'step')}",
        "Lower the learning rate, or clip the gradients: torch.nn.utils.clip_grad_norm_.",
        (
            *analysis.user_frames(holder.site, "the steps of this optimizer led here"),
            *(analysis.user_frames(steps[-1].site, "last step before it") if steps else ()),
        ),
    )


def _is_beyond(analysis: Analysis, values: Range) -> bool:
    return values.size > _SPACED.get(analysis.capture.tensors[values.tensor].dtype, math.inf)


def by_step(analysis: Analysis, op: Op) -> tuple[str, str]:
    """Why a step made NaN or Inf out of sound gradients, as far as its settings tell, and what to change."""
    step = next((step for step in analysis.capture.steps if step.op == op.index), None)
    rates = [rate for rate in step.rates if not math.isfinite(rate)] if step is not None else []
    if rates:
        return f": its learning rate is {rates[0]}", "Check what sets the learning rate: a scheduler, or the program."
    groups = analysis.capture.placement.optimizers[step.optimizer].groups if step is not None else ()
    if any(group.get("eps") == 0 for group in groups):
        return (
            ": its eps is 0, so an entry whose gradients were all zero becomes 0 / 0",
            "Give the optimizer an eps above 0.",
        )
    return "", "Look at the settings of this optimizer (learning rate, eps) and at the gradients before the step."
