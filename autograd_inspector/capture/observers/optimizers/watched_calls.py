"""The calls of torch in a step that is watched, each by the numbers that tensors have in the capture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor

from autograd_inspector.capture.observers.calls.special import FUNCTIONS, name_of
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard

READS = frozenset({"item", "tolist", "__float__", "__int__", "__bool__", "grad", "requires_grad"})
"""What returns no tensor, or another one, and leaves nothing with which the memory could be written."""


class Call:
    """One call: ``first`` are the tensors of its first argument, ``rest`` those of the others.

    ``alone`` is its result where that is a tensor, and no list of them. ``func`` is None of an object that is called.
    """

    __slots__ = ("alone", "first", "func", "name", "rest", "results", "written")

    def __init__(
        self, recording: Recording, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        self.func = func if id(type(func)) in FUNCTIONS else None
        self.name = name = name_of(func)
        self.first = _numbers(recording, args[:1])
        self.rest = _numbers(recording, (*args[1:], *kwargs.values()))
        self.results = _numbers(recording, (result,))
        self.alone = result if isinstance(result, Tensor) else None
        writes = (name.endswith("_") and not name.endswith("__")) or name in {"__setitem__", "data"} or "out" in kwargs
        written = writes and (name != "data" or result is None)
        self.written = (*self.first, *_numbers(recording, (kwargs.get("out"),))) if written else ()


class WatchedCalls:
    """Makes each call in the step, and tells of it."""

    def __init__(self, recording: Recording, guard: Guard, told: Iterable[Callable[[Call], None]]) -> None:
        self._recording = recording
        self._guard = guard
        self._told = tuple(told)

    def make(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of torch in the step: make it, and note what it did."""
        result = func(*args, **kwargs)
        self._guard.run(self._tell, func, args, kwargs, result)
        return result

    def _tell(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        call = Call(self._recording, func, args, kwargs, result)
        for note in self._told:
            note(call)


def _numbers(recording: Recording, values: Iterable[Any]) -> tuple[int, ...]:
    """The tensors among some values, and in lists among them; a decomposition has a tuple of its own type."""
    numbers: list[int] = []
    for value in values:
        if issubclass(type(value), (list, tuple)):
            numbers += _numbers(recording, value)
        elif issubclass(type(value), Tensor):
            numbers.append(recording.registry.enter(value, -1, len(recording.ops)).tensor)
    return tuple(numbers)
