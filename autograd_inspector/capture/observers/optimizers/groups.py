"""The parameter groups of an optimizer, and what was given as some: anything may stand where they should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.optim import Optimizer


def groups_of(optimizer: Optimizer) -> list[dict[str, Any]]:
    """The groups; [] where the optimizer has none, as before its constructor has run."""
    groups = entries(getattr(optimizer, "param_groups", None))
    return [group for group in groups if issubclass(type(group), dict) and "params" in group]


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    """The parameters of all groups, in their order."""
    return [parameter for group in groups_of(optimizer) for parameter in group["params"]]


def table(value: Any) -> dict[Any, Any]:
    """What was given, where it is a dictionary, which torch asks for; else an empty one."""
    return value if issubclass(type(value), dict) else {}


def entries(value: Any) -> Sequence[Any]:
    """What was given, where it is a list or a tuple; else nothing."""
    return value if issubclass(type(value), (list, tuple)) else ()


def rate_of(group: dict[str, Any]) -> float:
    """The learning rate of a group; -1 for a tensor, whose value is not read, and where there is none."""
    rate = group.get("lr")
    if not isinstance(rate, (int, float)):
        return -1.0
    try:
        return float(rate)
    except OverflowError:  # 10**400
        return math.inf if rate > 0 else -math.inf
