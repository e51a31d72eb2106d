"""Functions that normalise over a dimension, which may have one element: then nothing depends on what goes in."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from autograd_inspector.model.op import Trait

_CONSTANT = int(Trait.CONSTANT)
SOFTMAXES = (torch.softmax, torch.log_softmax, Tensor.softmax, Tensor.log_softmax, F.softmax, F.log_softmax, F.softmin)
"""Each takes (input, dim)."""


def of_softmax(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The trait of a softmax."""
    given = args[0] if args else kwargs.get("input")
    dim = args[1] if len(args) > 1 else kwargs.get("dim")
    if type(dim) is not int or not isinstance(given, Tensor):
        return 0
    shape = given.shape
    return _CONSTANT if -len(shape) <= dim < len(shape) and shape[dim] == 1 else 0


def of_cross_entropy(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """The trait of a cross entropy, whose classes are in dimension 1, or 0 of one sample."""
    given = args[0] if args else kwargs.get("input")
    if not isinstance(given, Tensor) or given.dim() == 0:
        return 0
    return _CONSTANT if given.shape[min(given.dim() - 1, 1)] == 1 else 0
