"""Attributes of tensors, and of the memory behind them."""

from __future__ import annotations

from collections.abc import Callable
from types import GetSetDescriptorType
from typing import Any

from torch import Tensor

from autograd_inspector.capture.torch_private.resolving import MISSING, attribute, looked_up, private, spare

_counter = private("torch:Tensor._version", "which op modified a tensor, and whether that was after it was saved")
version_counter = _counter.__get__ if isinstance(_counter, GetSetDescriptorType) else _counter
"""Torch's own count of a tensor's modifications; raises for an inference tensor, which has none."""


def _has_symbol(tensor: Any) -> bool:
    try:
        return any(type(size) is not int for size in (*tensor.shape, *tensor.stride(), tensor.storage_offset()))
    except (RuntimeError, NotImplementedError):
        return False


def _own_attribute(path: str, use: str, *, instead: Callable[[Any], Any] = lambda _: None, without: str = "") -> Any:
    """A function that reads torch's own attribute of a tensor, whatever a subclass put in its place."""
    descriptor = private(path, use, instead=None, without=without)
    return instead if descriptor is None else descriptor.__get__


is_symbolic = _own_attribute(
    "torch:Tensor._has_symbolic_sizes_strides", "sizes that are symbols, as in torch.export", instead=_has_symbol
)
"""Whether a size, a stride or the offset of a tensor is no number."""

base_of = _own_attribute(
    "torch:Tensor._base",
    "the tensor that a view shows part of",
    without="a leaf outside any model is not named if a write to a view of it was refused",
)
is_view = private(
    "torch:Tensor._is_view",
    "a view's node is not asked for: that would change torch's own errors",
    instead=lambda tensor: base_of(tensor) is not None,
)

holders_of = private(
    "torch:Tensor._use_count",
    "whether autograd has a gradient for somebody else as well",
    instead=lambda _: 0,
    without="which other nodes get a gradient that a custom backward modifies in place is not known",
)
"""How many hold a tensor, Python as one of them; 0: not known."""

HOOKS = "_backward_hooks"
gradient_hooks = _own_attribute(
    f"torch:Tensor.{HOOKS}",
    "the hooks that a leaf had before the capture, and tensors that are pickled",
    without="older hooks on gradients, and tensors that are pickled, are not observed",
)
post_accumulate_hooks = _own_attribute(
    "torch:Tensor._post_accumulate_grad_hooks",
    "the hooks that a leaf had before the capture",
    without="older hooks that run after a gradient is accumulated are not observed",
)
resurrect = private(
    "torch:Tensor._fix_weakref", "a tensor that C++ alone kept alive is Python's again", instead=lambda _: None
)
"""It is there for as long as it is needed."""

_PARTS = "the size of a sparse tensor that is not coalesced"
_WITHOUT_PARTS = "the bytes of uncoalesced sparse tensors are not counted"
sparse_values = private("torch:Tensor._values", _PARTS, instead=Tensor.values, without=_WITHOUT_PARTS)
sparse_indices = private("torch:Tensor._indices", _PARTS, instead=Tensor.indices, without=_WITHOUT_PARTS)

_INSIDE = "the values of a jagged tensor"
_WITHOUT_INSIDE = "the values of jagged tensors are not read"
_JAGGED = "torch.nested._internal.nested_tensor:NestedTensor"
_jagged = looked_up(_JAGGED, _INSIDE, without=_WITHOUT_INSIDE)
_jagged_values = attribute(f"{_JAGGED}._values", _INSIDE, without=_WITHOUT_INSIDE, late=True)


def values_of_jagged(tensor: Tensor) -> Any:
    """The plain tensor with all the values of a jagged one, None of any other tensor."""
    kind = _jagged()
    return _jagged_values(tensor) if kind is not MISSING and issubclass(type(tensor), kind) else None


_UNMASKED = "the values of a masked tensor"
_MASKED = "torch.masked:MaskedTensor"
_masked = looked_up(_MASKED, _UNMASKED, without="the values of masked tensors are not read")
_masked_data = attribute(f"{_MASKED}._set_data_mask._masked_data", _UNMASKED, late=True)
_mask = attribute(f"{_MASKED}._set_data_mask._masked_mask", _UNMASKED, late=True)


def parts_of_masked(tensor: Tensor) -> tuple[Any, Any] | None:
    """(values, mask: where they count), None of any other tensor."""
    kind = _masked()
    return (_masked_data(tensor), _mask(tensor)) if kind is not MISSING and issubclass(type(tensor), kind) else None


_ONCE = "which tensors share memory"


def _address_of() -> Any:
    cdata = spare("torch:UntypedStorage._cdata", _ONCE)
    return MISSING if cdata is MISSING else lambda tensor: tensor.untyped_storage()._cdata


storage_address = private("torch._C:_storage_address", _ONCE, instead=_address_of())
weak_ref = private("torch:UntypedStorage._weak_ref", "no other memory gets the number of one that was freed")
storage_expired = private("torch:UntypedStorage._expired", "freed memory is forgotten", instead=lambda _: False)
free_weak_ref = private("torch:UntypedStorage._free_weak_ref", "nothing of a storage outlives the capture")


def storage_key(storage: Any) -> int:
    """The same number for the same memory, as long as it lives; -1 where there is no telling."""
    return int(getattr(storage, "_cdata", 0) or storage.data_ptr() or -1)
