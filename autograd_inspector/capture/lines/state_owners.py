"""What the program's variables held where functions ran that write to somebody's ``state``: an optimizer, or not."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.lines.forwarding import locals_of
from autograd_inspector.capture.lines.local_names import attributes_of

_STATE = "state"
Held = weakref.ref[Optimizer] | None
"""None for something else than an optimizer."""


class StateOwners:
    """Of each function that mentions a ``state``: what the variables held that its frames had, and their attributes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[CodeType, dict[str, list[Held]]]] = {}
        """With the code itself, so that its id stays its own."""
        self._numbers: list[tuple[weakref.ref[Optimizer], int]] = []

    def met(self, optimizer: Optimizer, number: int) -> None:
        """That optimizer has that number."""
        self._numbers.append((weakref.ref(optimizer), number))

    def meet(self, frame: FrameType) -> None:
        """Look at the variables of a frame: whenever a new stack of calls goes through it."""
        code = frame.f_code
        if _STATE not in code.co_names:
            return
        known = self._known.setdefault(id(code), (code, {}))[1]
        for name, value in _variables(frame):
            held = weakref.ref(value) if issubclass(type(value), Optimizer) else None
            seen = known.setdefault(name, [])
            if not any(held is other for other in seen):
                seen.append(held)

    def of(self, code: CodeType, expression: str) -> list[int] | None:
        """The optimizers that an expression was seen to be in a function; [] something else, None not seen.

        One that the capture did not meet is -1.
        """
        found = self._known.get(id(code), (code, {}))[1].get(expression)
        if found is None:
            return None
        return [self._number(held) for held in found if held is not None]

    def _number(self, held: weakref.ref[Optimizer]) -> int:
        return next((number for ref, number in self._numbers if ref is held), -1)

    def fold(self, numbers: Collection[int]) -> None:
        """Forget the other optimizers: they are gone, and no record tells of them."""
        self._numbers = [(ref, number) for ref, number in self._numbers if number in numbers]

    def settle(self, numbers: Mapping[int, int]) -> None:
        """Number the optimizers anew."""
        self._numbers = [(ref, numbers[number]) for ref, number in self._numbers if number in numbers]

    def clear(self) -> None:
        """Let go of everybody's code."""
        self._known.clear()


def _variables(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """(expression, value) of the variables that a frame's code names, and of the attributes of theirs that it names."""
    names = set(frame.f_code.co_names)
    found = [*locals_of(frame), *((name, dict.get(frame.f_globals, name)) for name in names)]
    for name, value in found:
        if value is not None:
            yield name, value
            own = attributes_of(value)
            yield from ((f"{name}.{part}", own[part]) for part in names if own.get(part) is not None)
