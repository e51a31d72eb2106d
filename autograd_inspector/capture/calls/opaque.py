"""Calls that are one op to the capture: what they do inside must not, or cannot, be observed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torch import Tensor, nn

from autograd_inspector.capture.attributes import needs_grad, version_of
from autograd_inspector.capture.calls.ops import gather
from autograd_inspector.capture.calls.raised import text_of
from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.model.op import Trait, Write


class Opaque:
    """One call that is one op, whatever it does inside, where the observers are ``away``.

    An opaque call inside another is part of it.
    """

    def __init__(self, guard: Guard, away: AbstractContextManager[None], name: str, what: Any, given: Any) -> None:
        self._guard = guard
        self._away = away
        self._name = name
        self._what = what
        self._given = given
        self._result: Any = None
        self._raised = True
        self._exception: BaseException | None = None
        self._outermost = False
        self._before: Any = None

    def __enter__(self) -> Callable[[Any], None]:
        tape = self._guard.tape
        self._outermost = not tape.inside_opaque and tape.here() and tape.active()
        if self._outermost:
            tape.inside_opaque = True
            self._before = self._guard(self._look)
        self._away.__enter__()
        return self.done

    def done(self, result: Any) -> None:
        """What the call returned."""
        self._result, self._raised = result, False

    def __exit__(self, _type: object = None, error: BaseException | None = None, _traceback: object = None) -> None:
        self._away.__exit__(None, None, None)
        self._exception = error
        if self._outermost:
            self._guard.tape.inside_opaque = False
            if self._before is not None:
                self._guard(self._note)
        self._given = self._result = self._what = self._before = self._exception = None

    def _look(self) -> Any:
        inputs: list[Tensor] = []
        gather(self._given, inputs)
        owner = self._what if isinstance(self._what, nn.Module) else getattr(self._what, "__self__", None)
        if isinstance(owner, nn.Module):
            inputs += [*owner.parameters(), *owner.buffers()]
        tape = self._guard.tape
        entries = [tape.registry.enter(t, -1, len(tape.ops)) for t in inputs]
        return inputs, entries, [version_of(t) for t in inputs], sequence_number()

    def _note(self) -> None:
        tape = self._guard.tape
        inputs, entries, versions, first = self._before
        now = len(tape.ops)
        outputs: list[Tensor] = []
        gather((self._result,), outputs)
        ids, connected = [], False
        for tensor in outputs:
            entry = tape.registry.enter(tensor, now, now)
            entry.requires_grad = needs_grad(tensor)
            connected = connected or entry.requires_grad
            ids.append(entry.tensor)
        writes = tuple(
            Write(entry.tensor, entry.storage, before, version_of(tensor))
            for tensor, entry, before in zip(inputs, entries, versions, strict=True)
            if version_of(tensor) != before
        )
        cut = bool(ids) and not connected and any(entry.requires_grad for entry in entries)
        last = sequence_number()
        site = tape.stacks.here()
        inputs_ids = tuple(entry.tensor for entry in entries)
        traits = tape.traits | (int(Trait.CUT) if cut else 0)
        error = text_of(self._exception) if self._raised else ""
        where = (site, tape.call, tape.region, traits, first, last)
        tape.ops.append((self._name, inputs_ids, tuple(versions), tuple(ids), writes, *where, error))
