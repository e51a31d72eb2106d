"""Attributes of tensors, and of the memory behind them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from torch import Tensor

from autograd_inspector.capture.torch_private.resolving import MISSING, attribute, inline, private, spare

inline("torch:Tensor._version", "which op modified a tensor, and whether that was after it was saved", needed=True)


def _has_symbol(tensor: Any) -> bool:
    try:
        return any(type(size) is not int for size in (*tensor.shape, *tensor.stride(), tensor.storage_offset()))
    except (RuntimeError, NotImplementedError):
        return False


_SYMBOLIC = "_has_symbolic_sizes_strides"
_ASKED = inline(f"torch:Tensor.{_SYMBOLIC}", "sizes that are symbols, as in torch.export")
is_symbolic = attrgetter(_SYMBOLIC) if _ASKED else _has_symbol
"""Whether a size, a stride or the offset of a tensor is no number."""

base_of = attribute(
    "torch:Tensor._base",
    "the tensor that a view shows part of",
    without="a leaf of no model is not named where a write to a view of it was refused",
)
is_view = private(
    "torch:Tensor._is_view",
    "a view's node is not asked for: that would change torch's own errors",
    instead=lambda tensor: base_of(tensor) is not None,
)

HOOKS = "_backward_hooks"
gradient_hooks = attribute(
    f"torch:Tensor.{HOOKS}",
    "the hooks that a leaf had before the capture, and tensors that are pickled",
    without="older hooks on gradients, and tensors that are pickled, are not observed",
)
post_accumulate_hooks = attribute(
    "torch:Tensor._post_accumulate_grad_hooks",
    "the hooks that a leaf had before the capture",
    without="older hooks that run after a gradient is accumulated are not observed",
)
resurrect = private(
    "torch:Tensor._fix_weakref", "a tensor that C++ alone kept alive is Python's again", instead=lambda _: None
)
"""It is there for as long as it is needed."""

_PARTS = "the size of a sparse tensor that is not coalesced"
_WITHOUT_PARTS = "the bytes of sparse tensors that are not coalesced are not counted"
sparse_values = private("torch:Tensor._values", _PARTS, instead=Tensor.values, without=_WITHOUT_PARTS)
sparse_indices = private("torch:Tensor._indices", _PARTS, instead=Tensor.indices, without=_WITHOUT_PARTS)

_ONCE = "which tensors share memory"


def _address_of() -> Any:
    cdata = spare("torch:UntypedStorage._cdata", _ONCE)
    return MISSING if cdata is MISSING else lambda tensor: tensor.untyped_storage()._cdata


storage_address = private("torch._C:_storage_address", _ONCE, instead=_address_of())
inline("torch:UntypedStorage._weak_ref", "no other memory gets the number of one that was freed", needed=True)
storage_expired = private("torch:UntypedStorage._expired", "memory that is gone is forgotten", instead=lambda _: False)
free_weak_ref = private("torch:UntypedStorage._free_weak_ref", "nothing of a storage outlives the capture")


def storage_key(storage: Any) -> int:
    """The same number for the same memory, as long as it lives; -1 where there is no telling."""
    return int(getattr(storage, "_cdata", 0) or storage.data_ptr() or -1)
