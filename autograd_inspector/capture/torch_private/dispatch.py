"""The dispatcher: which keys a tensor has, what a thread leaves out, and the modes and subclasses written in Python.

What is switched for a read is switched back wherever an interrupt strikes. So a read is given to a function that
switches by calls of C code alone: a context manager of Python's may be interrupted on its way in or out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor

from autograd_inspector.capture.torch_private.calls import is_functorch_wrapped
from autograd_inspector.capture.torch_private.modes import DisableTorchFunction, set_grad_enabled
from autograd_inspector.capture.torch_private.resolving import private

T = TypeVar("T")
_QUIET = "the program's own dispatch modes and tensor subclasses do not see what the inspector reads"
_SEEN = "a dispatch mode or a tensor subclass of the program may see what the inspector reads"

_keys: Any = private("torch._C:DispatchKey", _QUIET, instead=None, without=_SEEN)
_key_set: Any = private("torch._C:DispatchKeySet", _QUIET, instead=None, without=_SEEN)
_forced: Any = private("torch._C:_ForceDispatchKeyGuard", _QUIET, instead=None, without=_SEEN)

_ABOVE = (
    "AutogradFunctionality", "AutogradOther", "AutogradNestedTensor", "ADInplaceOrView",
    "Python", "PythonTLSSnapshot", "PythonDispatcher", "PreDispatch",
    "Functionalize", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode", "FuncTorchVmapMode",
    "FuncTorchGradWrapper", "FuncTorchBatched", "FuncTorchBatchedDecomposition", "AutocastCPU", "AutocastCUDA",
    "AutocastMPS", "AutocastXPU", "AutocastHPU", "AutocastPrivateUse1",
)  # fmt: skip
"""What lies between a call and the kernel that computes."""


def _set_of(*names: str) -> Any:
    key_set = None
    for key in [getattr(_keys, name) for name in names if hasattr(_keys, name)]:
        key_set = _key_set(key) if key_set is None else key_set | _key_set(key)
    return key_set


_AUTOGRAD = _ABOVE[0]
"""Without it a read would be recorded in the program's graph: then grad mode is switched off instead."""
_POSSIBLE = None not in {_keys, _key_set, _forced} and hasattr(_keys, _AUTOGRAD)
_INCLUDED, _EXCLUDED = (_set_of("BackendSelect"), _set_of(*_ABOVE)) if _POSSIBLE else (None, None)


def straight_to_kernels(read: Callable[..., T], *args: Any) -> T:
    """The result of a read whose calls go to the kernels: no autograd, autocast, transform, mode or subclass between.

    What the thread had switched on is off for that long, so that it makes no difference to what is computed.
    """
    if not _POSSIBLE:
        return _without_grad(read, *args)
    with DisableTorchFunction(), _forced(_INCLUDED, _EXCLUDED):
        return read(*args)


def _without_grad(read: Callable[..., T], *args: Any) -> T:
    switch = set_grad_enabled or torch.set_grad_enabled
    before = torch.is_grad_enabled()
    with DisableTorchFunction():
        try:
            switch(False)  # noqa: FBT003 - as torch has it
            return read(*args)
        finally:
            switch(before)


class Refused(Exception):  # noqa: N818 - says what happened
    """Only code of the program's own could tell, and it was not asked."""


class _Refusing:
    """Stands for a dispatch mode on top of all others: what a subclass would be asked is refused in its place."""

    @classmethod
    def is_infra_mode(cls) -> bool:
        """It is none of torch's own."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Refuse."""
        raise Refused


_push: Any = private("torch._C:_push_on_torch_dispatch_stack", _QUIET, instead=None, without=_SEEN)
_pop: Any = private("torch._C:_pop_torch_dispatch_stack", _QUIET, instead=None, without=_SEEN)
_REFUSING = _Refusing()


def openly(read: Callable[..., T], *args: Any) -> T:
    """The result of a read that no function mode and no ``__torch_function__`` of the program's sees."""
    with DisableTorchFunction():
        return read(*args)


def refusing(read: Callable[..., T], *args: Any) -> T:
    """Of one for which no dispatch mode and no subclass of the program's runs: what only they tell raises Refused."""
    with DisableTorchFunction():
        if _push is None or _pop is None:
            return read(*args)
        try:
            _push(_REFUSING)
            return read(*args)
        finally:
            _pop(None)


Storing = Literal["dense", "sparse", "compressed", "nested", ""]
_keys_of: Any = private(
    "torch._C:_dispatch_keys",
    "which kernels a tensor has",
    instead=None,
    without="values are read of plain tensors only",
)
_BACKENDS = ("CPU", "CUDA", "HIP", "MPS", "XPU", "HPU", "MTIA", "PrivateUse1")
"""Those that hold values now. A lazy one would have to compute them first."""
_STANDS_FOR_ANOTHER = ("Functionalize", "FuncTorchGradWrapper", "FuncTorchBatched")


def how_stored(tensor: Tensor) -> Storing:
    """How the kernels see its values; "" where it has none, or stands for a tensor that a transform has hidden."""
    if _keys_of is None or not _POSSIBLE:
        kind = type(tensor)
        plain = (kind is Tensor or kind is torch.nn.Parameter) and not is_functorch_wrapped(tensor)
        return "dense" if plain and tensor.layout == torch.strided and tensor.device.type != "meta" else ""
    return _storing(_keys_of(tensor).raw_repr())


@lru_cache(maxsize=256)
def _storing(keys: int) -> Storing:
    key_set = _key_set.from_raw_repr(keys)
    if _has(key_set, *_STANDS_FOR_ANOTHER):
        return ""
    kinds: tuple[tuple[Storing, str], ...] = (
        ("nested", "NestedTensor"),
        ("sparse", "Sparse"),
        ("compressed", "SparseCsr"),
        ("dense", ""),
    )
    return next((name for name, prefix in kinds if _has(key_set, *(prefix + backend for backend in _BACKENDS))), "")


def _has(keys: Any, *names: str) -> bool:
    return any(keys.has(getattr(_keys, name)) for name in names if hasattr(_keys, name))
