"""Looks at the values of one tensor; each costs a pass over it and a device sync.

They are read from the plain tensors that hold them, by the kernels themselves. No mode, transform or subclass of the
program's notices, and what cannot be read that way is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.tensors.attributes import is_on_cuda
from autograd_inspector.capture.tensors.rooms import dispatch_of, room_of
from autograd_inspector.capture.torch_private.dispatch import how_stored, straight_to_kernels
from autograd_inspector.capture.torch_private.distributed import local_of
from autograd_inspector.capture.torch_private.modes import is_tracing
from autograd_inspector.capture.torch_private.tensors import parts_of_masked, sparse_values, values_of_jagged
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.model.values import Range

T = TypeVar("T")
_TORCHS: Any = Tensor
_DEEPEST = 3
"""A jagged tensor's values may be distributed."""


def plain(tensor: Tensor, depth: int = 0) -> Tensor | None:
    """The tensor that holds its values, None where they cannot be read unnoticed."""
    kind = type(tensor)
    if kind is not Tensor and kind is not Parameter and dispatch_of(kind) is not None:
        inner = _inside(tensor)
        if inner is not None:
            return plain(inner, depth + 1) if depth < _DEEPEST else None
        if not _has_memory(tensor):
            return None
    return _own_values(tensor)


def _own_values(tensor: Tensor) -> Tensor | None:
    """Its own values, as a tensor of no class but torch's."""
    stored, kind = how_stored(tensor), type(tensor)
    if not stored or (is_on_cuda(tensor) and _must_not_wait()):
        return None
    if stored == "dense" and (kind is Tensor or kind is Parameter):
        return tensor
    values: Tensor = straight_to_kernels(_HOLDING[stored], tensor)
    return values


def _sparse_values(tensor: Tensor) -> Any:
    return sparse_values(_TORCHS.coalesce(tensor))


_HOLDING: dict[str, Callable[[Tensor], Any]] = {
    "dense": _TORCHS.detach,
    "sparse": _sparse_values,
    "compressed": _TORCHS.values,
    "nested": _TORCHS.values,
}
"""Of a tensor that is stored like that, the one that holds its values."""


def _inside(tensor: Tensor) -> Tensor | None:
    """Where torch's own subclasses keep their values."""
    masked = parts_of_masked(tensor)
    if masked is not None:
        data, mask = (plain(part) for part in masked)
        if data is None or mask is None:
            return None
        return straight_to_kernels(Tensor.__getitem__, data, mask)
    inner = values_of_jagged(tensor)
    return local_of(tensor) if inner is None else inner


def _has_memory(tensor: Tensor) -> bool:
    """Whether it has values itself: no wrapper around others, and no answers of the program's for its sizes."""
    return bool(room_of(type(tensor))(_memory, tensor))


def _memory(tensor: Tensor) -> bool:
    for read in (_TORCHS.shape, _TORCHS.device, _TORCHS.layout):
        read.__get__(tensor)
    _TORCHS.stride(tensor)
    storage = _TORCHS.untyped_storage(tensor)
    if storage.device.type == "meta":
        return False
    try:
        return bool(storage.data_ptr())
    except RuntimeError:  # The result of a functional collective, until the program waits for it.
        return False


def _must_not_wait() -> bool:
    """A capture of a CUDA graph would fail, and a program that forbids to wait for the device would be told."""
    return torch.cuda.is_current_stream_capturing() or bool(torch.cuda.get_sync_debug_mode())


def _looking(look: Callable[[Tensor], T], *, unknown: T) -> Callable[[Tensor], T]:
    """A function that looks at the values of any tensor; ``unknown`` where they cannot be read."""

    def of(tensor: Tensor) -> T:
        if is_tracing():
            return unknown
        try:
            values = plain(tensor)
            if values is None:
                return unknown
            return straight_to_kernels(look, values)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return unknown

    return of


def _real(values: Tensor) -> Tensor:
    """Numbers that every kernel takes: the parts of complex ones, and those of 8 bits in 32."""
    if values.is_complex():
        return torch.view_as_real(values.resolve_conj())
    return values.float() if values.is_floating_point() and values.element_size() == 1 else values


def _magnitudes(values: Tensor) -> Tensor:
    return values.abs() if values.is_complex() else _real(values)


def is_continuous(dtype: torch.dtype) -> bool:
    """Whether its numbers can be NaN, or have a derivative."""
    return dtype.is_floating_point or dtype.is_complex


sound = _looking(
    lambda values: not is_continuous(values.dtype) or bool(torch.isfinite(_real(values)).all()), unknown=True
)
"""Whether it holds neither NaN nor Inf, as far as it can be looked at."""
has_nan = _looking(lambda values: bool(torch.isnan(_real(values)).any()), unknown=False)
"""Whether a NaN is among its values."""
any_nonzero = _looking(lambda values: values.numel() == 0 or bool(_real(values).any()), unknown=True)
"""Whether it holds anything else than zeros, or cannot be looked at."""


def _whole(values: Tensor) -> bool:
    if not values.is_floating_point() or values.numel() == 0:
        return False
    values = _real(values)
    return torch.equal(values, values.round())


whole = _looking(_whole, unknown=False)
"""Whether it holds nothing but whole numbers, as a sigmoid or a ReLU does where its derivative is zero."""


def _bits(values: Tensor) -> int | None:
    if values.dtype not in _LOW_PRECISION:
        return None
    return int(values.contiguous().view(torch.int16).sum(dtype=torch.int64))


_LOW_PRECISION = frozenset({torch.float16, torch.bfloat16})
bits = _looking(_bits, unknown=None)
"""The sum of what its numbers of two bytes are as integers; None of others. An update that is rounded away keeps it."""


def _fingerprint(values: Tensor) -> int:
    octets = values.contiguous().reshape(-1).view(torch.uint8)[:_OCTETS].to(torch.int64)
    places = torch.arange(1, octets.numel() + 1, dtype=torch.int64, device=octets.device) % _PRIME
    return int((octets * places).sum()) * _PRIME + values.numel()


_OCTETS, _PRIME = 1 << 22, 65_521
fingerprint = _looking(_fingerprint, unknown=None)
"""A number that is another one for other bits, with next to certainty: of the first 4 MiB. None: cannot be read."""


def _norm(values: Tensor) -> float:
    values = _real(values)
    norm = float(torch.linalg.vector_norm(values, dtype=torch.promote_types(values.dtype, torch.float32)))
    return norm if math.isfinite(norm) else -1.0


norm = _looking(_norm, unknown=-1.0)
"""The 2-norm; -1 where there are no values. float16 would overflow at 256 elements of 16."""


def _extent(values: Tensor) -> tuple[float, float, int, int] | None:
    if values.numel() == 0 or not (is_continuous(values.dtype) or values.dtype in _COUNTING):
        return None
    values = _magnitudes(values)
    nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
    finite = values[torch.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.numel() else (math.nan, math.nan)
    return low, high, nan, inf


_COUNTING = {torch.int64, torch.int32}
"""Targets and indices, not bytes of pixels."""
_extent_of = _looking(_extent, unknown=None)


def range_of(number: int, tensor: Tensor) -> Range | None:
    """The values of a tensor of numbers, of complex ones their magnitudes; None where there is nothing to read."""
    extent = _extent_of(tensor)
    return None if extent is None else Range(number, *extent)
