"""The parameter groups of an optimizer, and what was given as some: anything may stand where they should be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor
from torch.optim import Optimizer

from autograd_inspector.capture.lines.attributes import looked_up, plain


def groups_of(optimizer: Optimizer) -> list[dict[str, Any]]:
    """The groups; [] where the optimizer has none, as before its constructor has run."""
    groups = entries(getattr(optimizer, "param_groups", None))
    tables = [plain(group) for group in groups if issubclass(type(group), dict)]
    return [_listed(group) for group in tables if "params" in group]


def _listed(group: dict[str, Any]) -> dict[str, Any]:
    """A group with a list of parameters; what can be gone through only once is the program's, and stays whole."""
    given = group["params"]
    if type(given) is list:
        return group
    kind = type(given)
    if issubclass(kind, (list, tuple)):
        return {**group, "params": entries(given)}
    again = looked_up(kind, "__iter__") is not None and looked_up(kind, "__next__") is None
    return {**group, "params": list(given) if again else []}


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    """The parameters of all groups, in their order."""
    return [parameter for group in groups_of(optimizer) for parameter in group["params"]]


def table(value: Any) -> dict[Any, Any]:
    """What was given, where it is a dictionary, which torch asks for; else an empty one."""
    return plain(value) if issubclass(type(value), dict) else {}


def entries(value: Any) -> Sequence[Any]:
    """What was given, where it is a list or a tuple; else nothing."""
    kind, given = type(value), cast(Sequence[Any], value)
    if kind is list or kind is tuple:
        return given
    if issubclass(kind, list):
        return [*list.__iter__(value)]
    return tuple(tuple.__iter__(value)) if issubclass(kind, tuple) else ()


def rate_of(group: dict[str, Any]) -> float:
    """The learning rate of a group; -1 for a tensor, whose value is not read, and where there is none."""
    rate: Any = group.get("lr")
    if issubclass(type(rate), float):
        return float.__float__(rate)
    if not issubclass(type(rate), int):
        return -1.0
    try:
        return int.__float__(rate)
    except OverflowError:  # 10**400
        return math.inf if int.__gt__(rate, 0) else -math.inf
