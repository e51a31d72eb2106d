"""Options of groups for which the program set a number, and a load another one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.observers.optimizers.groups import groups_of
from autograd_inspector.model.program_events import OptionReplaced

_NUMBERS = Kinds(int, float)
_BEGIN = "initial_lr"
"""Of a group whose rate a scheduler sets."""


def numbers_of(optimizer: Optimizer) -> list[dict[str, float]]:
    """By option, of each group."""
    return [{key: value for key, value in group.items() if type(value) in _NUMBERS} for group in groups_of(optimizer)]


def replaced(optimizer: Optimizer, before: Sequence[dict[str, float]]) -> Iterator[OptionReplaced]:
    """What differs now, but for what its class has by default: nobody asked for that."""
    now = numbers_of(optimizer)
    if len(now) != len(before) or now == before:
        return
    defaults = _defaults(optimizer)
    for number, (group, had) in enumerate(zip(now, before, strict=True)):
        for option, value in had.items():
            changed = group.get(option, value)
            scheduled = option == "lr" and _BEGIN in group
            if changed != value and defaults.get(option) != value and not scheduled and option != _BEGIN:
                yield OptionReplaced(number, option, float(value), float(changed))


def _defaults(optimizer: Optimizer) -> dict[str, Any]:
    try:
        parameters = inspect.signature(type(optimizer).__init__).parameters
    except (TypeError, ValueError):
        return {}
    return {name: parameter.default for name, parameter in parameters.items()}
