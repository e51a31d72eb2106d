"""What the program's variables held where functions ran that write to somebody's ``state``: an optimizer, or not."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping
from types import CodeType, FrameType
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.lines.attribute_reads import Path, owners
from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.local_names import attributes_of

_STATE = "state"
_MOST = 16
"""So many optimizers are told apart that one expression was, a search over settings makes one for each."""
Held = weakref.ref[Optimizer] | None
"""None for something else than an optimizer."""


class _Mentions:
    """The expressions of one function that have a ``state``, and what each was when the function was seen to run."""

    def __init__(self, code: CodeType) -> None:
        self.code = code  # With the code itself, so that its id stays its own.
        self.paths = owners(code, _STATE)
        self.seen: dict[str, list[Held]] = {}

    def look(self, frame: FrameType) -> None:
        """At a frame of the function."""
        if not self.paths:
            return
        variables = dict(locals_of(frame))
        for path in self.paths:
            value = _reached(path, variables, frame.f_globals)
            if value is None:
                continue
            held = weakref.ref(value) if issubclass(type(value), Optimizer) else None
            seen = self.seen.setdefault(".".join(path), [])
            if len(seen) < _MOST and not any(held is other for other in seen):
                seen.append(held)


class StateOwners:
    """Of each function that mentions a ``state``: whose it was, whenever a new stack of calls went through."""

    def __init__(self) -> None:
        self._mentions_of_code: dict[int, _Mentions] = {}
        self._numbers: list[tuple[weakref.ref[Optimizer], int]] = []

    def met(self, optimizer: Optimizer, number: int) -> None:
        """That optimizer has that number."""
        self._numbers.append((weakref.ref(optimizer), number))

    def meet(self, frame: FrameType) -> None:
        """Look at the variables of a frame: whenever a new stack of calls goes through it."""
        code = frame.f_code
        if _STATE not in code.co_names:
            return
        mentions = self._mentions_of_code.get(id(code))
        if mentions is None:
            mentions = self._mentions_of_code[id(code)] = _Mentions(code)
        mentions.look(frame)

    def of(self, code: CodeType, expression: str) -> list[int] | None:
        """The optimizers that an expression was seen to be in a function; [] something else, None not seen.

        One that the capture did not meet is -1. It may have been others, in calls that brought no new stack.
        """
        mentions = self._mentions_of_code.get(id(code))
        holders = None if mentions is None else mentions.seen.get(expression)
        if holders is None:
            return None
        return [self._number(held) for held in holders if held is not None]

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
        self._mentions_of_code.clear()


def _reached(path: Path, variables: Mapping[str, Any], names: dict[str, Any]) -> Any:
    """What a path leads to, without any code of the program's running; None: nothing."""
    value = variables.get(path[0])
    if value is None:
        value = dict.get(names, path[0])
    for attribute in path[1:]:
        value = attributes_of(value).get(attribute)
    return value
