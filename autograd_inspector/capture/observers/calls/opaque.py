"""Calls that are one op to the capture: what they do inside must not, or cannot, be observed."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from autograd_inspector.capture.module_tree import buffers_of, parameters_of
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.bracket import Before, look, record
from autograd_inspector.capture.observers.calls.installed import Observers
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.torch_private.modes import is_on
from autograd_inspector.capture.undisturbed.mode_stack import put_back, put_on, take_off
from autograd_inspector.messages import text_of
from autograd_inspector.model.op import Trait


class Opaque:
    """One call that is one op, whatever it does inside. The recorder, and all observers if need be, are away there.

    An opaque call inside another is part of it.
    """

    def __init__(
        self, recorder: Recorder, name: str, what: Any, arguments: Any, observers: Observers | None = None
    ) -> None:
        self.recorder = recorder
        self._guard = recorder.guard
        self._observers = observers
        self.name = name
        self._what = what
        self._arguments = arguments
        self.result: Any = None
        self._raised = True
        self._was_on = is_on(recorder)
        self._outermost = False
        self._before: Before | None = None

    def begin(self) -> None:
        """The call begins. Where an interrupt strikes here, it has to be ended."""
        recording = self._guard.recording
        self._outermost = not recording.inside_opaque and recording.here() and recording.active()
        if self._outermost:
            self._before = self._guard.run(self._look)
            recording.inside_opaque = True
        if self._observers is not None:
            self._observers.leave(self)
        take_off(self.recorder)

    def done(self, result: Any) -> None:
        """What the call returned."""
        self.result, self._raised = result, False

    def end(self, error: BaseException | None = None) -> None:
        """The call is over. Ended again, it goes on with what was not done."""
        put_back(error)
        if self._was_on and not self._guard.recording.closed:
            put_on(self.recorder)
        if self._observers is not None:
            self._guard.run(self._observers.come_back, self)
        if self._outermost:
            self._guard.recording.inside_opaque = False
        before, self._before = self._before, None
        if before is not None:
            self._guard.run(self.note, before, error)
        self._arguments = self.result = self._what = None

    def _look(self) -> Before:
        inputs: list[Tensor] = []
        gather(self._arguments, inputs)
        args, _ = self._arguments
        for owner in (self._what, getattr(self._what, "__self__", None), *args):  # A method's module may be among them.
            if isinstance(owner, nn.Module):
                inputs += [*parameters_of(owner), *buffers_of(owner)]
        return look(self._guard.recording, inputs)

    def note(self, before: Before, raised: BaseException | None) -> None:
        """Record it, as it is over."""
        recording = self._guard.recording
        error = text_of(raised) if self._raised else ""
        traits = int(Trait.OPAQUE)
        record(recording, before, self.name, self.result, site=recording.stacks.here(), traits=traits, error=error)
