"""``torch.jit.trace``: it names values after the variables of the frame that calls an op, and keeps that frame's line.

With the recorder on the stack that frame would be ours, and torch's check of the traced graph would fail.
"""

from __future__ import annotations

from typing import Any

import torch

from autograd_inspector.capture.observers.calls.installed import Observers
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.mode_stack import put_back, put_on, take_off
from autograd_inspector.capture.undisturbed.patches import around

_TRACING = ("trace", "trace_module")


class Tracing:
    """Takes the observers away while torch.jit traces: nothing is the program's own run there."""

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._recorder = observers.recorder

    def install(self, into: Installation) -> None:
        """A probe in each function that traces."""
        for name in _TRACING:
            around(into, torch.jit, name, self)

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """It begins to trace."""
        if self._recorder.recording.here():
            seen += (object(), take_off(self._recorder))
            self._observers.leave(seen[0])

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It has traced."""
        self._ended(seen)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It could not."""
        put_back(error)
        self._ended(seen)

    def _ended(self, seen: list[Any]) -> None:
        if seen:
            call, was_on = seen
            self._recorder.guard.run(self._observers.come_back, call)
            if was_on and not self._recorder.recording.closed:
                put_on(self._recorder)
            seen.clear()
