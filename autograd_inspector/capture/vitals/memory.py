"""Bytes of parameters, gradients and optimizer state at each step, and of the most memory that was alive in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograd_inspector.capture.tensors.attributes import gradient_of, is_leaf
from autograd_inspector.capture.tensors.reading import plain
from autograd_inspector.capture.vitals.allocations import Allocations, Peak


class Bytes(NamedTuple):
    """What one optimizer steps: its number, and the bytes of it."""

    optimizer: int
    parameters: int
    gradients: int
    state: int


class Place(NamedTuple):
    """What ran when the most was alive: ``linear in blocks.3``, ``backward of linear in blocks.3``; its line."""

    what: str = ""
    site: int = -1


class Memory:
    """A line a step that is kept: the sums over the optimizers that have stepped so far, and the peak."""

    def __init__(self) -> None:
        self.parameters: list[int] = []
        self.gradients: list[int] = []
        self.state: list[int] = []
        self.peak: list[int | None] = []
        self.places: list[Place] = []
        self.allocations = Allocations()
        self.place_of: Callable[[Peak], Place] = lambda _: Place()
        self._held: dict[int, Bytes] = {}
        self._top, self._place = 0, Place()
        self._reported = 0

    def begin(self, running: Callable[[], int], place_of: Callable[[Peak], Place]) -> None:
        """A capture begins: the number of the op that runs, and what it knows of one. Older lines are not known."""
        self.allocations.running, self.place_of = running, place_of
        self.allocations.begin()
        self._reported = _allocated()
        self.places = [Place(place.what) for place in self.places]

    def open(self) -> None:
        """A training step that was not seen before has stepped its first optimizer, or run its backward."""
        self._top, self._place = 0, Place()

    def stepped(self, held: Bytes) -> None:
        """An optimizer has stepped."""
        self._held[held.optimizer] = held

    def reached(self) -> None:
        """The present step is over, unless another optimizer's step belongs to it."""
        peak = self.allocations.peak
        if peak.nbytes > self._top:
            self._top, self._place = peak.nbytes, self.place_of(peak)
        reported = _allocated()
        if reported > self._reported:  # Never so much before: that was in this step, and the allocator knows all of it.
            self._top = max(self._top, reported)
        self._reported = reported
        self.allocations.begin()

    def close(self) -> None:
        """The step is over."""
        held = self._held.values()
        self.parameters.append(sum(one.parameters for one in held))
        self.gradients.append(sum(one.gradients for one in held))
        self.state.append(sum(one.state for one in held))
        self.peak.append(self._top or None)
        self.places.append(self._place)

    def drop(self, place: int) -> None:
        """Forget a step."""
        for column in (self.parameters, self.gradients, self.state, self.peak, self.places):
            del column[place]


def bytes_of(optimizer: int, parameters: Iterable[Tensor], state: Mapping[Any, Any]) -> Bytes:
    """What an optimizer holds on this rank, each memory counted once."""
    owned = list(parameters)
    gradients = [gradient for p in owned if is_leaf(p) and (gradient := gradient_of(p)) is not None]
    kept = (value for p in owned for value in _tensors(state.get(p)))
    return Bytes(optimizer, _sum(owned), _sum(gradients), _sum(kept))


def _tensors(entry: Any) -> Iterator[Tensor]:
    """Those in dictionaries, and in lists that are not deep; a container may contain itself."""
    met: set[int] = set()
    waiting = [(entry, 0)]
    while waiting:
        value, depth = waiting.pop()
        if issubclass(type(value), Tensor):
            yield value
        elif id(value) in met or not (isinstance(value, dict) or (isinstance(value, (list, tuple)) and depth < _LISTS)):
            continue
        else:
            met.add(id(value))
            waiting += [(each, depth + 1) for each in (value.values() if isinstance(value, dict) else value)]


_LISTS = 3
"""L-BFGS keeps lists."""


def _sum(tensors: Iterable[Tensor]) -> int:
    sizes: dict[int, int] = {}
    for tensor in tensors:
        values = plain(tensor)
        if values is not None:
            storage = values.untyped_storage()
            sizes[storage.data_ptr()] = max(sizes.get(storage.data_ptr(), 0), storage.nbytes())
    return sum(sizes.values())


def _allocated() -> int:
    """The most that torch has allocated on the CUDA devices since the program last reset that; 0 without any."""
    if not torch.cuda.is_initialized():
        return 0
    return sum(torch.cuda.max_memory_allocated(device) for device in range(torch.cuda.device_count()))
