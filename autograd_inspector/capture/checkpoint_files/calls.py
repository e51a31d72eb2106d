"""The calls that a checkpoint's pickle may make: their arguments must not ask for more than the file holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from autograd_inspector.capture.checkpoint_files.values import Built, HostileError, items_of, numbers_in

_LATIN = (b"latin1", b"latin-1")
_VIEWS = {"_rebuild_tensor": (0, 1, 2, 3), "_rebuild_tensor_v2": (0, 1, 2, 3), "_rebuild_tensor_v3": (0, 1, 2, 3)}
"""Which arguments of these are storage, offset, size and stride."""
_SIZED = {"_rebuild_qtensor": 2, "_rebuild_meta_tensor_no_storage": 1, "_rebuild_wrapper_subclass": 2}
"""Which argument of these is the size."""
_STORAGE = 5
"""("storage", class, key, location, number of elements, ...)."""
_TYPED = 2
"""Which argument of ``_rebuild_from_type_v2(function, type, arguments, state)`` the function is called with."""
_MOST = 2**63


class Calls:
    """``records``: what the file has of each storage, by key; None where storages lie one after the other in it."""

    def __init__(self, size: int, records: Mapping[bytes, int] | None) -> None:
        self._size = size
        self._records = records
        self._claimed: set[Any] = set()
        self._total = 0

    def storage(self, persistent_id: Any) -> Built:
        """The storage that a persistent id names: as large as what the file has for it."""
        named = items_of(persistent_id)
        if len(named) < _STORAGE:
            return Built("storage")  # torch refuses that itself.
        kind, key, numel = named[1], named[2], named[4]
        itemsize = _itemsize(kind)
        if type(numel) is not int or not itemsize or isinstance(key, Built):
            raise HostileError("names a storage differently than torch.save does")
        nbytes = numel * itemsize
        there = self._size if self._records is None else self._records.get(key, 0)
        if nbytes < 0 or nbytes > there:
            raise HostileError(f"declares a storage of {numel:,} elements that are not in the file")
        if self._records is None and key not in self._claimed:
            self._claimed.add(key)
            self._total += nbytes
            if self._total > self._size:
                raise HostileError("declares storages with more bytes than the file has")
        return Built("storage", nbytes=nbytes, numel=numel)

    def result(self, function: Any, args: Any) -> Built:
        """What a call gives; raises HostileError for one that would take memory out of nothing."""
        name = function.items.rpartition(".")[2] if isinstance(function, Built) and function.kind == "global" else ""
        arguments = items_of(args)
        if name == "_rebuild_from_type_v2" and len(arguments) > _TYPED:
            return self.result(arguments[0], arguments[_TYPED])
        if name in _VIEWS:
            return self._view(arguments, name)
        if name in _SIZED and len(arguments) > _SIZED[name]:
            numel = _numel(arguments[_SIZED[name]])
            if name == "_rebuild_qtensor" and numel > self._size:
                raise HostileError(f"declares a tensor of {numel:,} elements that are not in the file")
            return Built("tensor", numel=numel)
        if name in {"_rebuild_parameter", "_rebuild_parameter_with_state", "Parameter"} and arguments:
            return Built("tensor", numel=getattr(arguments[0], "numel", 0))
        if name == "_rebuild_device_tensor_from_cpu_tensor":
            self._copied(arguments)
        if name == "Size":
            return _sized(arguments)
        _allocates(name, arguments)
        return Built("object")

    def state(self, state: Any) -> None:
        """What an object is built from: of a tensor of old its storage, offset, size and stride."""
        parts = items_of(state)
        if parts and isinstance(parts[0], Built) and parts[0].kind == "storage":
            self._view(parts, "_rebuild_tensor")

    def _view(self, arguments: tuple[Any, ...], name: str) -> Built:
        """A tensor lies within its storage. torch makes room for one that does not, where it can."""
        if len(arguments) < len(_VIEWS[name]):
            return Built("tensor")
        storage, offset, size, stride = arguments[:4]
        sizes, strides = numbers_in(size), numbers_in(stride)
        numel = _numel(size)
        if not isinstance(storage, Built) or storage.kind != "storage":
            return Built("tensor", numel=numel)
        if sizes is None or strides is None or type(offset) is not int or len(sizes) != len(strides):
            raise HostileError("has a tensor whose size and strides are not numbers")
        if numel:
            reach = offset + 1 + sum((n - 1) * step for n, step in zip(sizes, strides, strict=True))
            # The third form has a dtype of its own, over a storage of bytes.
            room = (
                storage.nbytes // (_dtype_size(arguments[6:7]) or 1) if name == "_rebuild_tensor_v3" else storage.numel
            )
            if min((offset, *strides)) < 0 or reach > room:
                raise HostileError(f"declares a tensor that spans {reach:,} elements, more than its storage has")
        return Built("tensor", nbytes=storage.nbytes, numel=numel)

    def _copied(self, arguments: tuple[Any, ...]) -> None:
        numel = arguments[0].numel if arguments and isinstance(arguments[0], Built) else _MOST
        if numel > self._size:
            raise HostileError("has a tensor that is larger than the file, and would be copied")


def _allocates(name: str, arguments: tuple[Any, ...]) -> None:
    """Classes and functions of which a number, or another codec, makes more than was given."""
    if name == "encode" and (len(arguments) < 2 or arguments[1] not in _LATIN):  # noqa: PLR2004 - text and codec
        raise HostileError("encodes a string differently than pickle writes bytes")
    if name == "bytearray" and len(arguments) > 1 and arguments[1] not in _LATIN:
        raise HostileError("encodes a string differently than pickle writes a bytearray")
    makes = name in {"bytearray", "bytes"} or name.endswith(("Tensor", "Storage"))
    if makes and any(type(item) is int or numbers_in(item) for item in arguments):
        raise HostileError(f"calls `{name}` with a number of bytes that are not in the file")


def _sized(arguments: tuple[Any, ...]) -> Built:
    """``torch.Size((2, 3))`` is a tuple."""
    inner = arguments[0] if arguments else None
    return Built("tuple", items=items_of(inner))


def _numel(size: Any) -> int:
    sizes = numbers_in(size)
    if sizes is None:
        return 0
    if any(n < 0 for n in sizes):
        raise HostileError("has a tensor of negative size")
    numel = math.prod(sizes)
    if numel >= _MOST:
        raise HostileError("has a tensor with more elements than fit in any memory")
    return numel


def _dtype_size(dtypes: tuple[Any, ...]) -> int:
    """Of ``torch.float32``; 0 of anything else."""
    name = dtypes[0].items if dtypes and isinstance(dtypes[0], Built) and dtypes[0].kind == "global" else ""
    dtype = getattr(torch, name.rpartition(".")[2], None)
    return dtype.itemsize if isinstance(dtype, torch.dtype) else 0


def _itemsize(kind: Any) -> int:
    """Of a storage class; 0 where there is none of that name."""
    path = kind.items if isinstance(kind, Built) and kind.kind == "global" else ""
    name = path.rpartition(".")[2].removesuffix("Storage")
    dtype = getattr(torch, _DTYPES.get(name, name.lower()), None)
    return dtype.itemsize if isinstance(dtype, torch.dtype) else int(name == "Untyped")


_DTYPES = {
    "Byte": "uint8",
    "Char": "int8",
    "BFloat16": "bfloat16",
    "ComplexDouble": "complex128",
    "ComplexFloat": "complex64",
    "QUInt8": "quint8",
    "QInt8": "qint8",
    "QInt32": "qint32",
    "QUInt4x2": "quint4x2",
    "QUInt2x4": "quint2x4",
}
