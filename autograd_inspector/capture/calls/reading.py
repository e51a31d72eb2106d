"""Looks at the values of one tensor; each costs a pass over it and a device sync."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from autograd_inspector.capture.torch_private.calls import is_functorch_wrapped
from autograd_inspector.model.values import Range


def readable(tensor: Tensor) -> bool:
    """Whether it holds floating numbers that can be looked at."""
    if is_functorch_wrapped(tensor):
        return False  # Inside vmap there is no value to branch on, and asking for one raises.
    return tensor.is_floating_point() and tensor.device.type != "meta" and tensor.layout == torch.strided


def counts(tensor: Tensor) -> bool:
    """Whether it holds whole numbers, as targets and indices do, that can be read."""
    if is_functorch_wrapped(tensor) or type(tensor) is not Tensor:
        return False
    held = tensor.device.type != "meta" and tensor.layout == torch.strided and tensor.numel() > 0
    return held and tensor.dtype in {torch.int64, torch.int32}


def sound(tensor: Tensor) -> bool:
    """Whether it holds neither NaN nor Inf, as far as it can be looked at."""
    if not readable(tensor):
        return True
    with torch.no_grad():
        return bool(torch.isfinite(tensor.detach()).all())


def has_nan(tensor: Tensor) -> bool:
    """Whether a NaN is among its values."""
    with torch.no_grad():
        return bool(torch.isnan(tensor.detach()).any())


def whole(tensor: Tensor) -> bool:
    """Whether it holds nothing but whole numbers, as a sigmoid or a ReLU does where its derivative is zero."""
    with torch.no_grad():
        return readable(tensor) and tensor.numel() > 0 and bool(torch.equal(tensor, tensor.round()))


def any_nonzero(tensor: Tensor) -> bool:
    """Whether it holds anything else than zeros, or cannot be looked at."""
    if not readable(tensor) or tensor.numel() == 0:
        return True
    with torch.no_grad():
        return bool(tensor.detach().any())


def norm(tensor: Tensor) -> float:
    """The 2-norm; -1 where there are no values. float16 would overflow at 256 elements of 16."""
    if not readable(tensor):
        return -1.0
    with torch.no_grad():
        norm = float(torch.linalg.vector_norm(tensor.detach(), dtype=torch.promote_types(tensor.dtype, torch.float32)))
    return norm if math.isfinite(norm) else -1.0


def range_of(number: int, tensor: Tensor) -> Range:
    """The values of a floating tensor, read with a device sync."""
    with torch.no_grad():
        data = tensor.detach()
        nan = int(torch.isnan(data).sum())
        inf = int(torch.isinf(data).sum())
        finite = data[torch.isfinite(data)]
        low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (float("nan"), float("nan"))
        return Range(number, low, high, nan, inf)
