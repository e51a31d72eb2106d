"""Bytes of parameters, gradients and optimizer state at each step, and the devices' own account of their peak."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from autograd_inspector.capture.tensors.attributes import gradient_of, is_leaf
from autograd_inspector.capture.tensors.reading import plain


class Bytes(NamedTuple):
    """What one optimizer steps: its number, and the bytes of it."""

    optimizer: int
    parameters: int
    gradients: int
    state: int


class Memory:
    """A line a step that is kept: the sums over the optimizers that have stepped so far, and the peak."""

    def __init__(self) -> None:
        self.parameters: list[int] = []
        self.gradients: list[int] = []
        self.state: list[int] = []
        self.peak: list[int | None] = []
        self._held: dict[int, Bytes] = {}
        self._top: int | None = None

    def open(self) -> None:
        """A training step that was not seen before has stepped its first optimizer."""
        self._top = None

    def stepped(self, held: Bytes) -> None:
        """An optimizer has stepped."""
        self._held[held.optimizer] = held
        peak = _peak()
        self._top = peak if self._top is None else max(peak or 0, self._top)

    def close(self) -> None:
        """The step is over."""
        held = self._held.values()
        self.parameters.append(sum(one.parameters for one in held))
        self.gradients.append(sum(one.gradients for one in held))
        self.state.append(sum(one.state for one in held))
        self.peak.append(self._top)

    def drop(self, place: int) -> None:
        """Forget a step."""
        for column in (self.parameters, self.gradients, self.state, self.peak):
            del column[place]


def bytes_of(optimizer: int, parameters: Iterable[Tensor], state: Mapping[Any, Any]) -> Bytes:
    """What an optimizer holds on this rank, each memory counted once."""
    owned = list(parameters)
    gradients = [gradient for p in owned if is_leaf(p) and (gradient := gradient_of(p)) is not None]
    kept = (value for p in owned for value in _tensors(state.get(p)))
    return Bytes(optimizer, _sum(owned), _sum(gradients), _sum(kept))


def _tensors(entry: Any, depth: int = 0) -> Iterator[Tensor]:
    if issubclass(type(entry), Tensor):
        yield entry
    elif isinstance(entry, dict):
        for value in entry.values():
            yield from _tensors(value, depth + 1)
    elif isinstance(entry, (list, tuple)) and depth < 3:  # noqa: PLR2004 - L-BFGS keeps lists
        for value in entry:
            yield from _tensors(value, depth + 1)


def _sum(tensors: Iterable[Tensor]) -> int:
    sizes: dict[int, int] = {}
    for tensor in tensors:
        values = plain(tensor)
        if values is not None:
            storage = values.untyped_storage()
            sizes[storage.data_ptr()] = max(sizes.get(storage.data_ptr(), 0), storage.nbytes())
    return sum(sizes.values())


def _peak() -> int | None:
    """The most that torch has allocated on the CUDA devices since the program last reset that; None without any."""
    if not torch.cuda.is_initialized():
        return None
    return sum(torch.cuda.max_memory_allocated(device) for device in range(torch.cuda.device_count()))
