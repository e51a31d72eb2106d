"""What optimizers keep for a parameter, by the names that they give it."""

from __future__ import annotations

ELEMENTWISE = frozenset(
    {
        "exp_avg",
        "exp_avg_sq",
        "max_exp_avg_sq",
        "exp_inf",
        "momentum_buffer",
        "square_avg",
        "grad_avg",
        "acc_delta",
        "sum",
        "ax",
        "prev",
        "step_size",
        "z",
    }
)
"""State that torch's own and schedule-free optimizers keep once for each element of the parameter."""

AVERAGES = frozenset({"exp_avg", "momentum_buffer"})
"""Averages of earlier gradients: with them a step moves a parameter although its gradient is zero."""

_MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
NEEDED_STATE: dict[str, set[str]] = {
    "SGD": set(),
    "Adam": _MOMENTS,
    "AdamW": _MOMENTS,
    "RAdam": _MOMENTS,
    "NAdam": {*_MOMENTS, "mu_product"},
    "Adamax": {"step", "exp_avg", "exp_inf"},
    "RMSprop": {"step", "square_avg"},
    "Adagrad": {"step", "sum"},
    "Adadelta": {"step", "square_avg", "acc_delta"},
    "Rprop": {"step", "prev", "step_size"},
    "ASGD": {"step", "eta", "mu", "ax"},
}
"""What the step of torch's optimizers reads of a parameter that has state, which it does not make again."""

_OPTIONAL_STATE = {
    "SGD": {"momentum_buffer"},
    "Adam": {"max_exp_avg_sq"},
    "AdamW": {"max_exp_avg_sq"},
    "RMSprop": {"momentum_buffer", "grad_avg"},
}
"""What they keep under some settings (momentum, amsgrad, centered)."""


def state_of(optimizer: str) -> set[str] | None:
    """All that an optimizer of torch's own keeps for a parameter, under some settings at least; None of any other."""
    needed = NEEDED_STATE.get(optimizer)
    return None if needed is None else needed | _OPTIONAL_STATE.get(optimizer, set())


LATER_SETTINGS = frozenset(
    {"maximize", "foreach", "capturable", "differentiable", "fused", "amsgrad", "nesterov", "decoupled_weight_decay"}
)
"""Settings that came to torch's optimizers in later versions, and that loading fills in where they are missing."""

_MANTISSA = {
    "float64": (52, 11),
    "float32": (23, 8),
    "float16": (10, 5),
    "bfloat16": (7, 8),
    "float8_e4m3fn": (3, 4),
    "float8_e5m2": (2, 5),
    "complex128": (52, 11),
    "complex64": (23, 8),
    "complex32": (10, 5),
}
"""Floating dtype -> bits of mantissa and exponent (of each part)."""


def floating(dtype: str) -> bool:
    """Whether ``torch.is_floating_point`` holds for the dtype."""
    return dtype.startswith(("float", "bfloat"))


def loses(before: str, after: str, *, codes: bool) -> bool:
    """Whether a cast can change values; ``codes``: integers stand for something else (8-bit state)."""
    if before in _MANTISSA and after in _MANTISSA:
        narrower = any(new < old for old, new in zip(_MANTISSA[before], _MANTISSA[after], strict=True))
        return narrower or (before.startswith("complex") and not after.startswith("complex"))
    return before in _MANTISSA or (codes and after in _MANTISSA)
