"""Custom autograd.Functions: each application is one op, which no torch-function mode shows."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

from autograd_inspector.capture.attributes import needs_grad, version_of
from autograd_inspector.capture.calls.ops import gather
from autograd_inspector.capture.calls.regions import Place, Regions
from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.tape import Tape
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.model.op import Trait, Write

INNER = int(Trait.INNER)


class _Call:
    """One that has begun, and what to restore at its end."""

    def __init__(self, function: type[Function], traits: int, place: Place) -> None:
        self.function = function
        self.traits = traits
        self.place = place
        self.started: Any = None


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

    def _starts(self, *given: Any) -> Any:
        inputs: list[Tensor] = []
        gather(given, inputs)
        tape = self._tape
        entries = [tape.registry.enter(t, -1, len(tape.ops)) for t in inputs]
        alive = torch.is_grad_enabled() and any(e.requires_grad for e in entries)
        return inputs, entries, [version_of(t) for t in inputs], alive, sequence_number()

    def _ended(self, cls: type[Function], started: Any, result: Any) -> None:
        inputs, entries, versions, alive, first = started
        tape = self._tape
        now = len(tape.ops)
        outputs: list[Tensor] = []
        gather((result,), outputs)
        ids, connected = [], False
        for tensor in outputs:
            entry = tape.registry.enter(tensor, now, now)
            entry.requires_grad = needs_grad(tensor)
            connected = connected or entry.requires_grad
            ids.append(entry.tensor)
        traits = int(Trait.FUNCTION) | tape.traits
        if not connected and (alive or any(e.requires_grad for e in entries)):
            traits |= int(Trait.CUT)
        writes = tuple(
            Write(entry.tensor, entry.storage, before, version_of(tensor))
            for tensor, entry, before in zip(inputs, entries, versions, strict=True)
            if entry.tensor in ids and version_of(tensor) != before
        )
        last = sequence_number()
        site = tape.stacks.here(0)
        backward = inspect.unwrap(cls.backward)
        tape.functions.setdefault(cls.__name__, getattr(backward, "__code__", None))
        tape.ops.append(
            (
                f"{cls.__name__}.apply",
                tuple(e.tensor for e in entries),
                tuple(versions),
                tuple(ids),
                writes,
                site,
                tape.call,
                tape.region,
                traits,
                first,
                last,
                "",
            )
        )
