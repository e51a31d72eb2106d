"""What is read of live tensors: their metadata, so that nobody notices and nothing fails.

A subclass may have attributes of its own under torch's names, which compute, write a log or raise. Torch's own are
read, past them. Of a wrapper that answers for its sizes or its device in ``__torch_dispatch__``, no more is told than
torch knows without asking the program's code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.tensors.rooms import room_of
from autograd_inspector.capture.torch_private.calls import is_functorch_wrapped, unwrapped_once
from autograd_inspector.capture.torch_private.dispatch import straight_to_kernels
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction
from autograd_inspector.capture.torch_private.tensors import (
    is_symbolic,
    is_view,
    sparse_indices,
    sparse_values,
    storage_address,
    values_of_jagged,
    version_counter,
)
from autograd_inspector.interrupts import is_interrupt

T = TypeVar("T")
_TORCHS: Any = Tensor
"""The class itself: an attribute of it is torch's own, whatever a subclass put in its place."""


def _history(read: Callable[[Any], T], *, unknown: T) -> Callable[[Tensor], T]:
    """A function that reads what autograd knows of a tensor; ``unknown`` where that raises."""

    def of(tensor: Tensor) -> T:
        kind = type(tensor)
        try:
            if kind is Tensor or kind is Parameter:
                return read(tensor)
            with DisableTorchFunction():
                return read(tensor)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return unknown

    return of


def _layout(read: Callable[[Any], T], *, unknown: T) -> Callable[[Tensor], T]:
    """A function that reads where and how a tensor lies; ``unknown`` where only code of the program's could tell."""

    def of(tensor: Tensor) -> T:
        kind = type(tensor)
        try:
            if kind is Tensor or kind is Parameter:
                return read(tensor)
            value: T = room_of(kind)(read, tensor)
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return unknown
        return value

    return of


def _version(tensor: Tensor) -> int:
    # Torch raises for an inference tensor, which takes fifty times as long as to ask first.
    return -1 if _TORCHS.is_inference(tensor) else int(version_counter(tensor))


version_of = _history(_version, unknown=-1)
"""``tensor._version``, or -1 for an inference tensor, which tracks none."""
needs_grad_here = _history(_TORCHS.requires_grad.__get__, unknown=False)
"""``tensor.requires_grad``, of a wrapper of functorch's its own: what the innermost transform differentiates."""


def _beneath(read: Callable[[Any], bool], *, stop: bool) -> Callable[[Any], bool]:
    """The same read of what functorch's wrappers stand for, until one answers ``stop``."""

    def of(tensor: Any) -> bool:
        value = read(tensor)
        while value is not stop and is_functorch_wrapped(tensor):
            beneath = unwrapped_once(tensor)
            if beneath is tensor:  # This torch does not tell what a wrapper stands for.
                return value
            tensor = beneath
            value = read(tensor)
        return value

    return of


needs_grad = _history(_beneath(_TORCHS.requires_grad.__get__, stop=True), unknown=False)
"""``tensor.requires_grad``; under vmap and its like also that of what a wrapper stands for."""
retains_grad = _history(_TORCHS.retains_grad.__get__, unknown=False)
is_inference = _history(_TORCHS.is_inference, unknown=False)
gradient_of = _history(_TORCHS.grad.__get__, unknown=None)
"""``tensor.grad``. Torch warns where that of a non-leaf is read."""
is_leaf = _history(_beneath(_TORCHS.is_leaf.__get__, stop=False), unknown=False)
"""``tensor.is_leaf``, of a wrapper also that of what it stands for.

False for a view that torch forbids to use, since its base was modified in place."""
node_of = _history(_TORCHS.grad_fn.__get__, unknown=None)
"""``tensor.grad_fn``; None also for such a view (of an op that returns several, or made under no_grad)."""
is_on_cuda = _history(_TORCHS.is_cuda.__get__, unknown=False)
dtype_of = _history(_TORCHS.dtype.__get__, unknown=torch.float32)


def has_history(tensor: Tensor) -> bool:
    """Whether it requires grad and some op made it, asked of any tensor of the program at any time.

    A view is not asked for its node: if its base was modified since, the look makes a new one, the old one dies, and
    torch's own errors name another op from then on.
    """
    return needs_grad(tensor) and (_is_view(tensor) or not is_leaf(tensor))


_is_view = _history(is_view, unknown=False)


def _sizes(tensor: Tensor) -> Any:
    sizes = _TORCHS.shape.__get__(tensor)
    if is_symbolic(tensor):
        return tuple([size if type(size) is int else -1 for size in sizes])
    return sizes


_asked_shape: Callable[[Tensor], Any] = _layout(_sizes, unknown=())


def shape_of(tensor: Tensor) -> Any:
    """Its sizes; () where it has none that are known (nested, lazy), -1 for one that is only a symbol."""
    kind = type(tensor)
    if kind is not Tensor and kind is not Parameter:
        return _asked_shape(tensor)
    try:  # As _asked_shape, but for every op.
        return _sizes(tensor) if is_symbolic(tensor) else tensor.shape
    except RuntimeError:
        return ()


def _place(tensor: Tensor) -> tuple[int, Any]:
    if is_symbolic(tensor):
        return 0, None
    return int(_TORCHS.storage_offset(tensor)), _TORCHS.stride(tensor)


placed: Callable[[Tensor], tuple[int, Any]] = _layout(_place, unknown=(0, None))
"""(offset in its storage, strides)."""
storage_of: Callable[[Tensor], Any] = _layout(_TORCHS.untyped_storage, unknown=None)
address_of: Callable[[Tensor], int | None] = _layout(storage_address, unknown=None)
"""The same number for the same memory; None where there is none (sparse, functorch wrappers, lazy)."""
is_meta: Callable[[Tensor], bool] = _layout(_TORCHS.is_meta.__get__, unknown=False)
_asked_device: Callable[[Tensor], torch.device | None] = _layout(_TORCHS.device.__get__, unknown=None)


def device_of(tensor: Tensor) -> torch.device:
    """Where it says that it is; where only the program's code could say so, where its memory is."""
    device = _asked_device(tensor)
    if device is None:
        storage = storage_of(tensor)
        return torch.device("meta" if storage is None else storage.device)
    return device


def _nbytes(tensor: Any) -> int:
    if _TORCHS.is_sparse.__get__(tensor):
        return straight_to_kernels(_nbytes_of_parts, tensor)
    inner = values_of_jagged(tensor)
    if inner is not None:
        return nbytes_of(inner)
    return int(_TORCHS.numel(tensor) * _TORCHS.element_size(tensor))


def _nbytes_of_parts(tensor: Tensor) -> int:
    return _nbytes(sparse_values(tensor)) + _nbytes(sparse_indices(tensor))


nbytes_of = _layout(_nbytes, unknown=0)
"""Bytes of its own elements: of a sparse tensor its indices and values; 0 where there is no telling."""


def _span(tensor: Tensor) -> tuple[int, int, int]:
    if is_symbolic(tensor):
        return 0, 0, 0
    item = _TORCHS.element_size(tensor)
    offset, nbytes = int(_TORCHS.storage_offset(tensor) * item), int(_TORCHS.numel(tensor) * item)
    if nbytes == 0 or _TORCHS.is_contiguous(tensor):
        return offset, nbytes, nbytes
    steps = zip(_TORCHS.shape.__get__(tensor), _TORCHS.stride(tensor), strict=True)
    return offset, int((1 + sum([(size - 1) * stride for size, stride in steps])) * item), nbytes


span_of = _layout(_span, unknown=(0, 0, 0))
"""(first byte in its storage, bytes from there to its last element, bytes of its own elements)."""


def plain_layout(tensor: Tensor) -> tuple[int, tuple[int, ...], torch.dtype, int] | None:
    """(address of its memory, sizes, dtype, bytes of its elements) in a quarter of the time.

    None of a tensor that has to be read with more care: one of a subclass, or without memory of its own.
    """
    kind = type(tensor)
    if (kind is Tensor or kind is Parameter) and not is_symbolic(tensor):
        try:
            nbytes = tensor.numel() * tensor.element_size()
            return storage_address(tensor), tuple(tensor.shape), tensor.dtype, nbytes
        except Exception as failure:
            if is_interrupt(failure):
                raise
    return None
