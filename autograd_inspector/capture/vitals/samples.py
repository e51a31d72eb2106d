"""Which entries of a tensor are looked at, so that a look at a large one costs no more than one at a small one.

What is computed of them stays on the tensor's device. To be called where calls go straight to the kernels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


def real(values: Tensor) -> Tensor:
    """Numbers that every kernel takes: the parts of complex ones, and those of 8 bits in 32."""
    if values.is_complex():
        return torch.view_as_real(values.resolve_conj())
    return values.float() if values.is_floating_point() and values.element_size() == 1 else values


def sampled(values: Tensor, entries: int) -> Tensor:
    """At most ``entries`` of a tensor's real values in one dimension, evenly spread; all where there are no more.

    A view where the memory allows one.
    """
    flat = _flat(real(values))
    count = flat.numel()
    if count <= entries:
        return flat
    stride = math.ceil(count / entries)
    # A stride that shares a divisor with the rows' length would only ever meet some of the columns.
    row = values.shape[-1] if values.dim() else 1
    while math.gcd(stride, row) > 1:
        stride += 1
    return flat[::stride]


def _flat(values: Tensor) -> Tensor:
    if values.is_contiguous():
        return values.view(-1)
    count = values.numel()
    reach = 1 + sum((size - 1) * step for size, step in zip(values.shape, values.stride(), strict=True))
    if reach == count and all(values.stride()):
        return torch.as_strided(values, (count,), (1,))  # Transposed or channels-last: all of its memory, in order.
    return values.reshape(-1)
