"""Which tensor object is which, without keeping any alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

_address = torch._C._storage_address


class Entry:
    """One live tensor object: its id in the capture, its storage's id, whether it required grad when last met."""

    __slots__ = ("ref", "requires_grad", "storage", "tensor")

    def __init__(self, ref: weakref.ref[Tensor], tensor: int, storage: int, requires_grad: bool) -> None:
        self.ref = ref
        self.tensor = tensor
        self.storage = storage
        self.requires_grad = requires_grad


Fact = tuple[Any, ...]
"""(shape, dtype, device, requires_grad, is_leaf, storage, offset, stride, itemsize, birth, first_use, inference)"""


class Registry:
    """Numbers tensors by object and memory by storage.

    A tensor is known by its address as long as a weak reference proves that the object there is still the same one.
    A storage is known by the address of its StorageImpl, which a c10 weak reference keeps from being reused (the
    data itself is freed as usual).
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self.entries: list[Entry] = []
        self._storages: dict[int, int] = {}
        self._held: list[StorageWeakRef] = []
        self.facts: list[Fact] = []
        self.parameters: set[int] = set()
        self.buffers: set[int] = set()

    def known(self, tensor: Tensor) -> Entry | None:
        """The entry of this very object, None when it was never met."""
        entry = self._entries.get(id(tensor))
        return entry if entry is not None and entry.ref() is tensor else None

    def enter(self, tensor: Tensor, birth: int, now: int) -> Entry:
        """The entry of this object, made on first sight. ``birth``: the op that returned it, -1 unknown."""
        entry = self._entries.get(id(tensor))
        if entry is not None and entry.ref() is tensor:
            return entry
        number = len(self.facts)
        requires_grad = tensor.requires_grad
        storage = self.storage_of(tensor)
        self.facts.append((*_layout(tensor, requires_grad), storage, birth, now))
        entry = Entry(weakref.ref(tensor), number, storage, requires_grad)
        self._entries[id(tensor)] = entry
        self.entries.append(entry)
        return entry

    def refresh(self, number: int, tensor: Tensor) -> None:
        """Read a tensor's layout again: ``.data = `` and ``module.to()`` change it under the same object."""
        storage = self.storage_of(tensor)
        entry = self.entries[number]
        entry.storage, entry.requires_grad = storage, tensor.requires_grad
        self.facts[number] = (*_layout(tensor, tensor.requires_grad), storage, *self.facts[number][9:])

    def storage_of(self, tensor: Tensor) -> int:
        """The number of the memory behind a tensor, -1 when it has none (sparse, functorch wrappers)."""
        try:
            address = _address(tensor)
        except (RuntimeError, NotImplementedError):
            return -1
        number = self._storages.get(address)
        if number is None:
            self._held.append(StorageWeakRef(tensor.untyped_storage()))
            number = self._storages[address] = len(self._storages)
        return number

    def alive(self, tensors: Iterable[int] | None = None) -> Iterator[tuple[int, Tensor]]:
        """(id, tensor) of those tensors (by default all) that the program still holds."""
        for number in range(len(self.entries)) if tensors is None else tensors:
            tensor = self.entries[number].ref()
            if tensor is not None:
                fix = getattr(tensor, "_fix_weakref", None)
                if fix is not None:
                    fix()
                yield number, tensor

    def close(self) -> None:
        """Forget every live object."""
        self._entries.clear()
        self.entries.clear()
        self._held.clear()


def _layout(tensor: Tensor, requires_grad: bool) -> Fact:
    try:
        return (
            tensor.shape,
            tensor.dtype,
            tensor.device,
            requires_grad,
            tensor.is_leaf,
            tensor.storage_offset(),
            tensor.stride(),
            tensor.is_inference(),
        )
    except (RuntimeError, NotImplementedError):
        return (tuple(tensor.shape), tensor.dtype, tensor.device, requires_grad, tensor.is_leaf, 0, None, False)


def version_of(tensor: Tensor) -> int:
    """``tensor._version``, or -1 for an inference tensor, which tracks none."""
    try:
        return tensor._version
    except RuntimeError:
        return -1
