"""Which tensor object is which, without keeping any alive."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.recording.nested import entries_within
from autograd_inspector.capture.recording.raw_records import FACT_BIRTH, FACT_FIRST_USE, Fact
from autograd_inspector.capture.recording.window import Window
from autograd_inspector.capture.tensors.attributes import (
    address_of,
    device_of,
    dtype_of,
    is_inference,
    is_leaf,
    needs_grad,
    placed,
    shape_of,
    storage_of,
)
from autograd_inspector.capture.torch_private.tensors import (
    free_weak_ref,
    is_symbolic,
    resurrect,
    storage_address,
    storage_expired,
    weak_ref,
)
from autograd_inspector.interrupts import is_interrupt

_MOST_GIVEN = 1000
"""So many entries are looked at of what a model is given, which may be a table of numbers."""
_DEEPEST = 3
_MANY = 50_000
"""Of so many storages, and of twice as many as were left the last time, those that are gone are looked for."""
CPU = torch.device("cpu")
"""There is one: to ask a tensor whether it is there takes a tenth of comparing devices."""
_CONTAINERS = Kinds(list, tuple, dict)


class Entry(weakref.ref[Tensor]):
    """One tensor object: its id in the capture, its storage's id, whether it required grad when last met.

    ``untracked``: torch counts no versions of it, and raises where they are asked for (an inference tensor).
    It is itself the weak reference: one object a tensor instead of two.
    """

    __slots__ = ("requires_grad", "storage", "tensor", "untracked")

    requires_grad: bool
    storage: int
    tensor: int
    untracked: bool

    # A weak reference compares what it refers to: tensors, which would compute.
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class Known:
    """An entry as it stood, with a number of its own."""

    __slots__ = ("entry", "requires_grad", "storage", "tensor", "untracked")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.tensor, self.storage = entry.tensor, entry.storage
        self.requires_grad, self.untracked = entry.requires_grad, entry.untracked

    def __call__(self) -> Tensor | None:
        """The tensor, as long as the program has it."""
        return self.entry()


class Registry:
    """Numbers tensors by object and memory by storage.

    A tensor is known by its address as long as a weak reference proves that the object there is still the same one.
    A storage is known by the address of its StorageImpl, which a c10 weak reference keeps from being reused (the
    data itself is freed as usual).
    """

    def __init__(self) -> None:
        self.by_address: dict[int, Entry] = {}
        self.entries: Window[Entry] = Window()
        self.facts: Window[Fact] = Window()
        self.parameters: set[int] = set()
        self.buffers: set[int] = set()
        self.new_parameters: set[int] = set()
        """Parameters that were met since a call of a model last returned."""
        self.call_arguments: set[int] = set()
        """What requires grad and was an argument of a model's call."""
        self.looked_at: set[int] = set()
        """What a call was given that returned no tensor, as ``torch.equal`` does."""
        self.met: Callable[[int, Any], None] | None = None
        """Told the address of each StorageImpl that was not met before, and the storage."""
        self.storages: dict[int, int] = {}
        """Address of a StorageImpl -> the number of that memory."""
        self._arrays: dict[int, int] = {}
        """Where the memory of an array begins -> the address of the first StorageImpl that was made over it."""
        self._numbered = 0
        self._sweep_at = _MANY
        self._same: dict[Any, Any] = {}
        """Shapes and devices: equal ones are kept once."""

    def entry_of(self, tensor: Tensor) -> Entry | None:
        """The entry of this very object, None when it was never met."""
        entry = self.by_address.get(id(tensor))
        return entry if entry is not None and entry() is tensor else None

    def enter(self, tensor: Tensor, birth: int, now: int) -> Entry:
        """The entry of this object, made on first sight. ``birth``: the op that returned it, -1 unknown."""
        entry = self.by_address.get(id(tensor))
        if entry is not None and entry() is tensor:
            return entry
        return self.add(tensor, birth, now)

    def given_to_model(self, values: Collection[Any]) -> None:
        """A model is called with those arguments: note what of them, and of the containers among them, is known."""
        entries = _entries_of(values)
        for value in entries_within(values, _DEEPEST, _MOST_GIVEN) if entries is None else entries:
            if issubclass(type(value), Tensor):
                entry = self.entry_of(value)
                if entry is not None and entry.requires_grad:
                    self.call_arguments.add(entry.tensor)

    def add(self, tensor: Tensor, birth: int, now: int) -> Entry:
        """A new entry for an object that was never met."""
        next_storage, kind = self._numbered, type(tensor)
        plain = kind is Tensor or kind is Parameter
        if plain:
            storage = self._storage_of_plain(tensor)
            requires_grad, dtype = tensor.requires_grad, tensor.dtype
            device = CPU if tensor.is_cpu else self._one_of(tensor.device)
            if storage < 0 and not requires_grad:
                requires_grad = needs_grad(tensor)  # A wrapper of functorch's, which has no memory of its own.
            inference = not requires_grad and tensor.is_inference()
        else:
            storage = self.storage_of(tensor)
            requires_grad, dtype, device = needs_grad(tensor), dtype_of(tensor), self._one_of(device_of(tensor))
            inference = not requires_grad and is_inference(tensor)
        alone = storage == next_storage and birth >= 0  # An op's result in memory of its own begins at its beginning.
        shape: Any = None
        offset: Any = 0
        stride: Any = None
        try:
            if plain and not is_symbolic(tensor):
                if not alone:
                    offset, stride = tensor.storage_offset(), tensor.stride()
                shape = tensor.shape
        except RuntimeError as failure:  # A nested one has no such layout.
            if is_interrupt(failure):
                raise
        if shape is None:
            shape = shape_of(tensor)
            offset, stride = (0, None) if alone else placed(tensor)
        number = self.entries.start + len(self.entries.recent)
        entry = Entry(tensor)
        entry.tensor, entry.storage, entry.requires_grad, entry.untracked = number, storage, requires_grad, inference
        leaf = not requires_grad or (birth < 0 and is_leaf(tensor))
        shape = self._same.setdefault(shape, shape)
        fact = (shape, dtype, device, leaf, offset, stride, inference, storage, birth, now)
        address, facts, entries = id(tensor), self.facts.recent, self.entries.recent
        facts += (fact,)  # All three or none: an interrupt strikes only where something is called.
        entries += (entry,)
        self.by_address[address] = entry
        if birth < 0 and kind is Parameter:
            self.parameters.add(number)
            self.new_parameters.add(number)
        return entry

    def _one_of(self, device: torch.device) -> torch.device:
        kept: torch.device = self._same.setdefault(device, device)
        return kept

    def join(self, real: Tensor, stand_in: Tensor, now: int) -> None:
        """A tensor that stands for a real one is that one to the capture, and so is its memory."""
        met = self.enter(real, -1, now)
        entry = Entry(stand_in)
        entry.tensor, entry.storage, entry.untracked = met.tensor, met.storage, met.untracked
        entry.requires_grad = needs_grad(stand_in)
        self._share(stand_in, met.storage)
        self.by_address[id(stand_in)] = entry

    def take_over(self, stand_in: Tensor, real: Tensor) -> None:
        """A real tensor is, to the capture, what a stand-in was that an op returned. One that was met before stays."""
        made = self.by_address.get(id(stand_in))
        if made is None or made() is not stand_in or self.entry_of(real) is not None:
            return
        number = made.tensor
        self._share(real, made.storage)
        entry = Entry(real)
        entry.tensor, entry.storage, entry.requires_grad = number, made.storage, needs_grad(real)
        entry.untracked = is_inference(real)
        self.entries[number] = self.by_address[id(real)] = entry
        self.refresh(number, real)

    def _share(self, tensor: Tensor, storage: int) -> None:
        """The memory of a tensor is known by that number, unless it has one."""
        address = address_of(tensor)
        memory = None if address is None or address in self.storages or storage < 0 else storage_of(tensor)
        if address is not None and memory is not None:
            weak_ref(memory)
            self.storages[address] = storage

    def from_array(self, tensor: Tensor) -> None:
        """A tensor was made over the memory of an array: of one that others live on it has their number.

        Each call makes a StorageImpl of its own, which keeps the array alive.
        """
        address, memory = address_of(tensor), storage_of(tensor)
        if address is None or memory is None or address in self.storages or not memory.nbytes():
            return
        first = self._arrays.get(memory.data_ptr(), -1)
        if first in self.storages and not storage_expired(first):
            self._share(tensor, self.storages[first])
            return
        if len(self._arrays) >= self._sweep_at:
            self._arrays.clear()
        self._arrays[memory.data_ptr()] = address

    def refresh(self, number: int, tensor: Tensor) -> None:
        """Read a tensor's layout again: ``.data = `` and ``module.to()`` change it under the same object."""
        storage = self.storage_of(tensor)
        entry = self.entries[number]
        entry.storage, entry.requires_grad, entry.untracked = storage, needs_grad(tensor), is_inference(tensor)
        layout = (
            shape_of(tensor),
            dtype_of(tensor),
            device_of(tensor),
            is_leaf(tensor),
            *placed(tensor),
            entry.untracked,
        )
        self.facts[number] = (*layout, storage, *self.facts[number][FACT_BIRTH:])

    def reread(self, tensors: Iterable[int]) -> bool:
        """Whether any of these requires grad, also where only what functorch's wrapper stands for does."""
        connected = False
        for number in tensors:
            entry = self.entries[number]
            tensor = entry()
            entry.requires_grad = tensor is not None and needs_grad(tensor)
            connected = connected or entry.requires_grad
        return connected

    def storage_of(self, tensor: Tensor) -> int:
        """The number of the memory behind a tensor, -1 when it has none (sparse, functorch wrappers)."""
        address = address_of(tensor)
        return -1 if address is None else self.storage_at(address, tensor)

    def _storage_of_plain(self, tensor: Tensor) -> int:
        """``storage_of`` a tensor of no subclass, for every op."""
        try:
            address = storage_address(tensor)
            number = self.storages.get(address)
            memory = tensor.untyped_storage() if number is None else None
        except Exception as failure:
            if is_interrupt(failure):
                raise
            return -1
        return self._numbered_now(address, memory) if number is None else number

    def storage_at(self, address: int, tensor: Tensor) -> int:
        """The number of the memory behind a tensor, which is at that address."""
        number = self.storages.get(address)
        if number is None:
            memory = storage_of(tensor)
            if memory is None:
                return -1
            number = self._numbered_now(address, memory)
        return number

    def _numbered_now(self, address: int, memory: Any) -> int:
        """The number of memory that was not met before."""
        weak_ref(memory)  # What it returns is the address, which close() frees it by.
        number = self.storages[address] = self._numbered
        self._numbered += 1
        if len(self.storages) >= self._sweep_at:
            self._forget_freed()
            self._sweep_at = max(_MANY, 2 * len(self.storages))
        if self.met is not None:
            self.met(address, memory)
        return number

    def alive(self, tensors: Iterable[int] | None = None) -> Iterator[tuple[int, Tensor]]:
        """(id, tensor) of those tensors (by default all) that the program still holds."""
        entries = self.entries
        for number in [number for number, _ in entries.items()] if tensors is None else tensors:
            entry = entries.get(number)
            tensor = None if entry is None else entry()
            if tensor is not None:
                resurrect(tensor)
                yield number, tensor

    def fold(self, keep: set[int]) -> None:
        """Forget all tensors but those, and the memory that is gone."""
        for address in [address for address, entry in self.by_address.items() if entry.tensor not in keep]:
            del self.by_address[address]
        self.entries.fold(len(self.entries), keep)
        self.facts.fold(len(self.facts), keep)
        self.parameters &= keep
        self.new_parameters &= keep
        self.buffers &= keep
        self.call_arguments &= keep
        self.looked_at &= keep
        self._same.clear()
        self._forget_freed()

    def _forget_freed(self) -> None:
        """Nothing is met again in memory that is gone; until its address is let go, it keeps some 200 bytes of it."""
        for address in [address for address in self.storages if storage_expired(address)]:
            del self.storages[address]  # Before: an interrupt must not have it freed twice.
            free_weak_ref(address)

    def copied(self) -> Registry:
        """Another one that knows the same, to be numbered anew and read. It is not for meeting tensors."""
        other = copy(self)
        other.entries, other.facts = self.entries.copied(), self.facts.copied()
        entries: Any = other.entries  # What is known of one is read in the same way.
        for number, entry in self.entries.items():
            entries[number] = Known(entry)
        other.by_address, other.storages, other.met = {}, dict(self.storages), None
        return other

    def settle(self, tensors: Mapping[int, int], ops: Mapping[int, int], position: Callable[[int], int]) -> None:
        """Number the tensors that are left anew, given old -> new of tensors, of ops, and of what lies between ops."""
        facts = [
            (*fact[:FACT_BIRTH], ops.get(fact[FACT_BIRTH], -1), position(fact[FACT_FIRST_USE])) for fact in self.facts
        ]
        entries = list(self.entries)
        for entry in entries:
            entry.tensor = tensors[entry.tensor]
        self.facts.settle(facts)
        self.entries.settle(entries)
        self.parameters = {tensors[number] for number in self.parameters}
        self.new_parameters = {tensors[number] for number in self.new_parameters}
        self.buffers = {tensors[number] for number in self.buffers}
        self.call_arguments = {tensors[number] for number in self.call_arguments}
        self.looked_at = {tensors[number] for number in self.looked_at}

    def birth_of(self, tensor: int) -> int:
        """The op that returned a tensor; -1 unknown."""
        fact = self.facts.get(tensor)
        return -1 if fact is None else fact[FACT_BIRTH]

    def storages_of(self, tensors: Iterable[int]) -> frozenset[int]:
        """The memory of those of the tensors that are known."""
        entries = map(self.entries.get, tensors)
        return frozenset(entry.storage for entry in entries if entry is not None)

    def close(self) -> None:
        """Forget every live object."""
        self.met = None
        self.by_address.clear()
        self.entries.clear()
        self.facts.clear()
        for numbers in (self.parameters, self.buffers, self.call_arguments, self.looked_at):
            numbers.clear()
        while self.storages:
            free_weak_ref(self.storages.popitem()[0])  # Never twice, wherever an interrupt strikes.
        self.storages = {}  # One that was only emptied would keep its room.


def _entries_of(values: Collection[Any]) -> Collection[Any] | None:
    """What a model is given, and what is in tuples and lists of it; None where that is deeper, or much."""
    if len(values) > _MOST_GIVEN:
        return None
    if _CONTAINERS.isdisjoint(map(type, values)):
        return values
    entries: list[Any] = []
    for value in values:
        if type(value) is tuple or type(value) is list:
            entries += value
        else:
            entries.append(value)
    return entries if len(entries) <= _MOST_GIVEN // 2 and _CONTAINERS.isdisjoint(map(type, entries)) else None
