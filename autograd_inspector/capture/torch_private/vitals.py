"""Norms of many tensors in few calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_inspector.capture.torch_private.resolving import private


def _one_by_one(tensors: Sequence[Tensor], order: float, *, dtype: torch.dtype) -> list[Tensor]:
    return [torch.linalg.vector_norm(tensor, order, dtype=dtype) for tensor in tensors]


_foreach_norm: Any = private(
    "torch:_foreach_norm", "norms of all parameters of a step in one call", instead=_one_by_one
)


def norms(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The 2-norm of each, as a scalar on its device; added up in float32 at least: float16 overflows at 65,504."""
    found: dict[int, Tensor] = {}
    groups: dict[tuple[torch.device, torch.dtype], list[int]] = {}
    for place, tensor in enumerate(tensors):
        groups.setdefault((tensor.device, tensor.dtype), []).append(place)
    for (_, dtype), places in groups.items():
        wide = torch.promote_types(dtype, torch.float32)
        results = _foreach_norm([tensors[place] for place in places], 2, dtype=wide)
        found |= dict(zip(places, results, strict=True))
    return [found[place] for place in range(len(tensors))]


scale_of: Any = private(
    "torch.amp:GradScaler._get_scale_async",
    "the loss scale, which get_scale() would wait for the device to tell",
    instead=lambda _: None,
    without="the loss scale is not among the vitals",
)
"""The tensor that holds a GradScaler's scale, None before the first loss is scaled."""
