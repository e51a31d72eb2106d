"""Bytes of the memory that is alive, and the op at which there was the most: counted from the storages that were met.

A storage counts from the moment at which it is first seen (an op returned it, a graph saved it, a node of backward
passed it on) until it is freed. What a kernel allocates and frees within one op is not seen.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from torch import Tensor

from autograd_inspector.capture.tensors.attributes import address_of, storage_of

_CUDA_BLOCK = 512
"""The caching allocator of CUDA gives out multiples of so many bytes."""
_HOST = "cpu"


class Peak(NamedTuple):
    """The most bytes that were alive at once, and where: ``op`` ran, or the ``backward`` of what that op recorded."""

    nbytes: int = 0
    op: int = -1
    backward: bool = False


class Allocations:
    """Of the accelerators together, where any memory of theirs was met; else of the host."""

    def __init__(self) -> None:
        self.running: Callable[[], int] = lambda: -1
        """The op that runs."""
        self._known: dict[int, _Memory] = {}
        """By the address of the StorageImpl."""
        self._freed: deque[_Memory] = deque()
        """Those that are gone and not yet subtracted. Nothing but the append in C runs while memory is freed: Python
        would swallow an interrupt that strikes there."""
        self._alive: dict[str, int] = {_HOST: 0}
        self._peaks: dict[str, Peak] = {_HOST: Peak()}
        self._passing = -1
        """The op through whose backward a gradient passes."""

    def look(self, tensors: Iterable[Any]) -> None:
        """Count the memory behind those of them that are tensors, where it is new."""
        for tensor in tensors:
            if isinstance(tensor, Tensor):
                address = address_of(tensor)
                if address is not None:
                    self._settle()
                    storage = None if address in self._known else storage_of(tensor)
                    if storage is not None:
                        self.met(address, storage)

    def met(self, address: int, storage: Any) -> None:
        """A storage that was not known at that address, or is known already."""
        self._settle()
        if address in self._known:
            return
        kind, nbytes = storage.device.type, storage.nbytes()
        if kind == "meta" or not nbytes:
            return
        kind = _HOST if kind == _HOST else "device"
        memory = _Memory(storage, self._freed.append)
        memory.address, memory.kind = address, kind
        memory.nbytes = nbytes if kind == _HOST else -(-nbytes // _CUDA_BLOCK) * _CUDA_BLOCK
        self._known[address] = memory
        alive = self._alive[kind] = self._alive.get(kind, 0) + memory.nbytes
        peak = self._peaks.get(kind)
        if peak is None or alive > peak.nbytes:
            passing = self._passing
            self._peaks[kind] = Peak(alive, self.running() if passing < 0 else passing, passing >= 0)

    def passed(self, op: int, tensors: Iterable[Any]) -> None:
        """The backward of an op has been given, and has passed on, those."""
        self._passing = op
        self.look(tensors)
        self._passing = -1

    @property
    def peak(self) -> Peak:
        """Since it was last taken."""
        return self._peaks.get("device", self._peaks[_HOST])

    def begin(self) -> None:
        """What is alive now is the most of what comes, until more is met."""
        self._settle()
        self._peaks = {kind: Peak(alive) for kind, alive in self._alive.items()}

    def _settle(self) -> None:
        freed = self._freed
        while freed:
            memory = freed.popleft()
            if self._known.get(memory.address) is memory:
                del self._known[memory.address]
            self._alive[memory.kind] -= memory.nbytes


class _Memory(weakref.ref[Any]):
    """A storage, not kept alive."""

    __slots__ = ("address", "kind", "nbytes")

    address: int
    kind: str
    nbytes: int

    __eq__ = object.__eq__
    __hash__ = object.__hash__
