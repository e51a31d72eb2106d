"""Calls that are one op to the capture: what they do inside must not, or cannot, be observed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from autograd_inspector.capture.attributes import needs_grad, version_of
from autograd_inspector.capture.calls.mode_stack import is_on, put_back, put_on, take_off
from autograd_inspector.capture.calls.ops import Recorder, gather
from autograd_inspector.capture.calls.raised import text_of
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.model.op import Trait, Write

if TYPE_CHECKING:
    from autograd_inspector.capture.observers import Observers


class Opaque:
    """One call that is one op, whatever it does inside. The recorder, and all observers if need be, are away there.

    An opaque call inside another is part of it.
    """

    def __init__(
        self, recorder: Recorder, name: str, what: Any, given: Any, observers: Observers | None = None
    ) -> None:
        self._recorder = recorder
        self._guard = recorder.guard
        self._observers = observers
        self._name = name
        self._what = what
        self._given = given
        self._result: Any = None
        self._raised = True
        self._was_on = is_on(recorder)
        self._outermost = False
        self._before: Any = None

    def begin(self) -> None:
        """The call begins. Where an interrupt strikes here, it has to be ended."""
        tape = self._guard.tape
        self._outermost = not tape.inside_opaque and tape.here() and tape.active()
        if self._outermost:
            self._before = self._guard(self._look)
            tape.inside_opaque = True
        if self._observers is not None:
            self._observers.leave(self)
        take_off(self._recorder)

    def done(self, result: Any) -> None:
        """What the call returned."""
        self._result, self._raised = result, False

    def end(self, error: BaseException | None = None) -> None:
        """The call is over. Ended again, it goes on with what was not done."""
        put_back(error)
        if self._was_on:
            put_on(self._recorder)
        if self._observers is not None:
            self._guard(self._observers.come_back, self)
        if self._outermost:
            self._guard.tape.inside_opaque = False
        before, self._before = self._before, None
        if before is not None:
            self._guard(self._note, before, error)
        self._given = self._result = self._what = None

    def _look(self) -> Any:
        inputs: list[Tensor] = []
        gather(self._given, inputs)
        owner = self._what if isinstance(self._what, nn.Module) else getattr(self._what, "__self__", None)
        if isinstance(owner, nn.Module):
            inputs += [*owner.parameters(), *owner.buffers()]
        tape = self._guard.tape
        entries = [tape.registry.enter(t, -1, len(tape.ops)) for t in inputs]
        return inputs, entries, [version_of(t) for t in inputs], sequence_number()

    def _note(self, before: Any, raised: BaseException | None) -> None:
        tape = self._guard.tape
        inputs, entries, versions, first = before
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
        error = text_of(raised) if self._raised else ""
        where = (site, tape.call, tape.region, traits, first, last)
        tape.ops.append((self._name, inputs_ids, tuple(versions), tuple(ids), writes, *where, error))
