"""Custom autograd.Functions: each application is one op, which no torch-function mode shows."""

from __future__ import annotations

import inspect
from typing import Any

from torch import Tensor
from torch.autograd import Function

from autograd_inspector.capture.observers.calls.bracket import Before, look, record
from autograd_inspector.capture.observers.calls.ops import gather
from autograd_inspector.capture.observers.calls.regions import Place, Regions
from autograd_inspector.capture.recording import Tape
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.model.op import Trait

INNER, FUNCTION = int(Trait.INNER), int(Trait.FUNCTION)


class _Call:
    """One that has begun, and what to restore at its end."""

    def __init__(self, function: type[Function], traits: int, place: Place) -> None:
        self.function = function
        self.traits = traits
        self.place = place
        self.started: Before | None = None


class Applied:
    """A probe in ``Function.apply``. The ops of the forward get the trait INNER."""

    def __init__(self, tape: Tape, regions: Regions, guard: Guard) -> None:
        self._tape = tape
        self._regions = regions
        self._guard = guard

    def before(self, seen: list[_Call], cls: type[Function], /, *args: Any, **kwargs: Any) -> None:
        """A Function is about to be applied."""
        tape = self._tape
        if not (tape.here() and tape.active()):
            return
        call = _Call(cls, tape.traits, self._regions.place())
        seen += (call,)
        call.started = self._guard(self._starts, args, kwargs)
        tape.traits = call.traits | INNER

    def after(self, seen: list[_Call], result: Any, /) -> Any:
        """It returned."""
        for call in seen:
            self._left(call)
            started, call.started = call.started, None
            if started is not None:
                self._guard(self._ended, call.function, started, result)
        return result

    def failed(self, seen: list[_Call], _error: BaseException, /) -> None:
        """It raised."""
        for call in seen:
            self._left(call)

    def _left(self, call: _Call) -> None:
        self._tape.traits = call.traits
        self._guard(self._regions.back_to, call.place)

    def _starts(self, *given: Any) -> Before:
        inputs: list[Tensor] = []
        gather(given, inputs)
        return look(self._tape, inputs)

    def _ended(self, cls: type[Function], started: Before, result: Any) -> None:
        tape = self._tape
        backward = inspect.unwrap(cls.backward)
        tape.functions.setdefault(cls.__name__, getattr(backward, "__code__", None))
        record(tape, started, f"{cls.__name__}.apply", result, site=tape.stacks.here(0), traits=FUNCTION, own=True)
