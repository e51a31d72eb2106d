"""What a call of torch was given: its tensors, and the numbers beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.recording.recording import Recording

PLAIN_KINDS = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.Size)
"""What holds no tensor."""
PLAIN = frozenset(map(id, PLAIN_KINDS))
"""By identity: the metaclass of a class of the program's may refuse to be hashed."""


def gather(values: Iterable[Any], into: list[Tensor]) -> bool:
    """Collect the tensors among arguments, also inside lists, tuples and dicts; whether some are of another class.

    None of the program's code runs: it may have containers that compute what they contain.
    """
    odd = False
    for value in values:
        kind = type(value)
        if kind is Tensor or kind is Parameter:
            into.append(value)
        elif id(kind) in PLAIN:
            continue
        elif issubclass(kind, Tensor):
            into.append(value)
            odd = True
        elif issubclass(kind, list):
            odd = gather(list.__iter__(value), into) or odd
        elif issubclass(kind, tuple):
            odd = gather(tuple.__iter__(value), into) or odd
        elif issubclass(kind, dict):
            odd = gather(dict.values(value), into) or odd
        elif kind is slice:  # `x[start:]`, where a model computed the start.
            odd = gather((value.start, value.stop, value.step), into) or odd
    return odd


def note_numbers(recording: Recording, op: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What an in-place op was given beside tensors: an edit can be told from the one that takes it back."""
    named = [*((str(place), value) for place, value in enumerate(args)), *kwargs.items()]
    numbers = [(name, float(value)) for name, value in named if type(value) is float or type(value) is int]
    if numbers and len(args) > 1 and (args[1] is Ellipsis or (type(args[1]) is slice and args[1] == slice(None))):
        numbers.append(("whole", 1.0))
    if numbers:
        recording.number_arguments[op] = tuple(numbers)
