"""Activation functions: where their derivative vanishes, and whether a unit of theirs can be 0 for good."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor


class Activation(NamedTuple):
    """``flat``: how many of the results are such that the derivative there is below a hundredth of its largest."""

    flat: Callable[[Tensor], Tensor] | None
    dies: bool = False


_SIGMOID = 0.002_506_27
"""y (1 - y) is 0.25 / 100 at this y, and at 1 less it."""
_TANH = 0.994_987_44
"""1 - y² is 1 / 100 at this y."""


def _near_ends(results: Tensor) -> Tensor:
    return torch.count_nonzero((results < _SIGMOID) | (results > 1 - _SIGMOID))


def _near_ones(results: Tensor) -> Tensor:
    return torch.count_nonzero(results.abs() > _TANH)


def _at_ones(results: Tensor) -> Tensor:
    return torch.count_nonzero(results.abs() >= 1)


def _at_ends(results: Tensor) -> Tensor:
    return torch.count_nonzero((results <= 0) | (results >= 1))


def _at_six(results: Tensor) -> Tensor:
    return torch.count_nonzero((results <= 0) | (results >= 6))  # noqa: PLR2004 - relu6


def _zeros(results: Tensor) -> Tensor:
    return results.numel() - torch.count_nonzero(results)


_RECTIFIED = Activation(_zeros, dies=True)
_SMOOTH = Activation(None)
ACTIVATIONS = {
    "sigmoid": Activation(_near_ends),
    "tanh": Activation(_near_ones),
    "hardtanh": Activation(_at_ones),
    "hardsigmoid": Activation(_at_ends),
    "relu6": Activation(_at_six, dies=True),
    "relu": _RECTIFIED,
    "threshold": _RECTIFIED,
    "gelu": _SMOOTH,
    "silu": _SMOOTH,
    "elu": _SMOOTH,
    "selu": _SMOOTH,
    "celu": _SMOOTH,
    "mish": _SMOOTH,
    "softplus": _SMOOTH,
    "leaky_relu": _SMOOTH,
    "hardswish": _SMOOTH,
}
"""The name of the op, without the underscore of its in-place form."""
MEASURED = frozenset(ACTIVATIONS) | {f"{name}_" for name in ACTIVATIONS}
MODULES = frozenset(
    {
        "Sigmoid", "Tanh", "Hardtanh", "Hardsigmoid", "ReLU6", "ReLU", "Threshold", "GELU", "SiLU", "ELU", "SELU",
        "CELU", "Mish", "Softplus", "LeakyReLU", "Hardswish",
    }
)  # fmt: skip
"""The modules that do nothing but that."""
