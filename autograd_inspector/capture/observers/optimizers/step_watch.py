"""A step that left version counters as they were, watched the next time: it writes past them, or not at all.

A step may write through ``.data``, in a fused kernel, through a pointer that it gives to one. What it only reads, and
computes a new value of that nothing uses, it does not write.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from autograd_inspector.capture.observers.calls.special import EXPORTS, PASS, name_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import shape_of
from autograd_inspector.capture.undisturbed.guard import Guard

_POINTERS = frozenset({"data_ptr", "untyped_storage", "storage", "__cuda_array_interface__", "share_memory_"})
_READS = frozenset({"item", "tolist", "__float__", "__int__", "__bool__", "grad", "requires_grad"})
"""What returns no tensor, or another one, and leaves nothing with which the memory could be written."""


class StepWatch:
    """Follows the calls of torch in one step, by the numbers that tensors have in the capture."""

    def __init__(self, recording: Recording, guard: Guard, parameters: Iterable[Tensor]) -> None:
        self._recording = recording
        self._guard = guard
        self._of: dict[int, int] = {}
        """A parameter, or what shares its memory -> that parameter."""
        self._shapes: dict[int, Any] = {}
        self._storages: dict[int, int] = {}
        self._values: dict[int, set[int]] = {}
        """A tensor -> the parameters that it was computed from."""
        self._gradients: dict[int, set[int]] = {}
        """A tensor -> the parameters from whose gradients it was computed."""
        self._made: dict[int, tuple[int, int]] = {}
        """A new value -> (its parameter, where it was computed)."""
        self._results: dict[int, set[int]] = {}
        """A new value, or what was computed of it -> what was computed of that."""
        self._touched: set[int] = set()
        for parameter in parameters:
            entry = recording.registry.enter(parameter, -1, len(recording.ops))
            self._of[entry.tensor], self._shapes[entry.tensor] = entry.tensor, shape_of(parameter)
            self._storages[entry.storage] = entry.tensor

    def call(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of torch in the step: make it, and note what it did."""
        result = func(*args, **kwargs)
        self._guard.run(self._note, func, args, kwargs, result)
        return result

    def dropped(self, still: frozenset[int]) -> dict[int, int]:
        """Parameter, of those -> where its new value was computed that nothing used; {} where some may be written."""
        if not self._touched.isdisjoint(still):
            return {}
        made = [(number, *each) for number, each in self._made.items() if each[0] in still]
        return {parameter: site for number, parameter, site in made if self._is_gone(number)}

    def _is_gone(self, number: int) -> bool:
        """Whether a value is no longer there, nor anything that was computed of it: a mean was only looked at."""
        todo, met = [number], {number}
        while todo:
            each = todo.pop()
            if self._recording.registry.entries[each]() is not None:
                return False
            todo += self._results.get(each, set()) - met
            met |= self._results.get(each, set())
        return True

    def _note(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        name = name_of(func)
        first = self._numbers(args[:1])
        rest = self._numbers((*args[1:], *kwargs.values()))
        mine = {self._of[number] for number in (*first, *rest) if number in self._of}
        if func in PASS:
            self._touched |= mine if name in _POINTERS else set()
            return
        results = self._numbers((result,))
        for number in (*first, *rest):
            if not results and name not in _READS:
                self._made.pop(number, None)  # Who took it may bring it back.
            elif number in self._made or number in self._results:
                self._results.setdefault(number, set()).update(set(results) - {number})
                for made in results:
                    self._results.setdefault(made, set())
        if (name.endswith("_") and not name.endswith("__")) or name in {"__setitem__", "data"} or "out" in kwargs:
            written = (*first, *self._numbers((kwargs.get("out"),)))
            if name != "data" or result is None:
                self._touched |= {self._of[number] for number in written if number in self._of}
        if mine and name not in _READS and (func in EXPORTS or not results):
            self._touched |= mine
        for number in results:
            self._derive(number, (*first, *rest), result if isinstance(result, Tensor) else None, name)

    def _derive(self, number: int, inputs: tuple[int, ...], result: Tensor | None, name: str) -> None:
        storage = self._recording.registry.entries[number].storage
        if storage in self._storages:
            self._of[number] = self._storages[storage]
            return
        if name == "grad" and inputs:
            self._gradients[number] = {self._of[tensor] for tensor in inputs if tensor in self._of}
            return
        values = {self._of[tensor] for tensor in inputs if tensor in self._of}.union(
            *(self._values.get(tensor, ()) for tensor in inputs if tensor not in self._gradients)
        )
        gradients = set[int]().union(*(self._gradients.get(tensor, ()) for tensor in inputs))
        if values:
            self._values[number] = self._values.get(number, set()) | values
        if gradients:
            self._gradients[number] = self._gradients.get(number, set()) | gradients
        both = values & gradients
        if result is not None and len(both) == 1:
            (parameter,) = both
            shape, own = shape_of(result), self._shapes[parameter]
            as_many = number in inputs and math.prod(shape) == math.prod(own)
            if as_many or (shape == own and number not in inputs):
                self._made[number] = parameter, self._recording.stacks.here(0)

    def _numbers(self, values: Iterable[Any]) -> tuple[int, ...]:
        """The tensors among some values, and in lists among them; a decomposition has a tuple of its own type."""
        numbers: list[int] = []
        for value in values:
            if issubclass(type(value), (list, tuple)):
                numbers += self._numbers(value)
            elif issubclass(type(value), Tensor):
                numbers.append(self._recording.registry.enter(value, -1, len(self._recording.ops)).tensor)
        return tuple(numbers)


def watchable(parameters: Iterable[Tensor]) -> bool:
    """Whether all are plain tensors: what a subclass does with its memory is its own affair."""
    return all(type(parameter) in {Tensor, torch.nn.Parameter} for parameter in parameters)
