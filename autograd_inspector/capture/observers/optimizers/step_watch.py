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

from autograd_inspector.capture.lines.kinds import Kinds
from autograd_inspector.capture.observers.calls.special import EXPORTS, PASS
from autograd_inspector.capture.observers.optimizers.watched_calls import READS, Call
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import shape_of

_POINTERS = frozenset({"data_ptr", "untyped_storage", "storage", "__cuda_array_interface__", "share_memory_"})


class StepWatch:
    """Follows the calls of torch in one step, by the numbers that tensors have in the capture."""

    def __init__(self, recording: Recording, parameters: Iterable[Tensor]) -> None:
        self._recording = recording
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

    def note(self, call: Call) -> None:
        """A call of torch in the step."""
        name, first, rest, results = call.name, call.first, call.rest, call.results
        mine = {self._of[number] for number in (*first, *rest) if number in self._of}
        if call.func in PASS:
            self._touched |= mine if name in _POINTERS else set()
            return
        for number in (*first, *rest):
            if not results and name not in READS:
                self._made.pop(number, None)  # Who took it may bring it back.
            elif number in self._made or number in self._results:
                self._results.setdefault(number, set()).update(set(results) - {number})
                for made in results:
                    self._results.setdefault(made, set())
        self._touched |= {self._of[number] for number in call.written if number in self._of}
        if mine and name not in READS and (call.func in EXPORTS or not results):
            self._touched |= mine
        for number in results:
            self._derive(number, (*first, *rest), call.alone, name)

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


def watchable(parameters: Iterable[Tensor]) -> bool:
    """Whether all are plain tensors: what a subclass does with its memory is its own affair."""
    return _PLAIN.issuperset(map(type, parameters))


_PLAIN = Kinds(Tensor, torch.nn.Parameter)
