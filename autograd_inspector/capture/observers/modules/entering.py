"""The calls of modules, told to those who follow them: where the program goes in, and where it comes out."""

from __future__ import annotations

import sys
import threading
from typing import Any

from torch import nn

from autograd_inspector.capture.observers.calls.fast_paths import HAVE_ONE, FastPaths
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.observers.modules.elsewhere import Elsewhere
from autograd_inspector.capture.torch_private.modules import CALL
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around

_frame, _ident = sys._getframe, threading.get_ident
_AWAY = object()
"""Of a call in a thread that is not part of the capture."""


class ModuleCalls:
    """A probe in the method that every call of a module comes through, whoever makes it.

    Not a global forward hook: one is enough for torch to run each module through its machinery of hooks, two frames
    deeper, and for dynamo to guard against it.
    """

    def __init__(self, modules: Modules, fast_paths: FastPaths) -> None:
        self._modules = modules
        self._fast_paths = fast_paths
        self._recording = modules.recording
        self._elsewhere = Elsewhere(modules.recording)

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        around(into, nn.Module, CALL.name if CALL.owner() is not None else "__call__", self)

    def before(self, seen: list[Any], module: nn.Module, /, *args: Any, **kwargs: Any) -> None:
        """A call begins: ``seen`` gets how many are open outside it, and what it is as a whole where it is one op.

        In a thread that is not part of the capture nothing is seen but the call itself: ``seen`` gets a name of it.
        """
        recording, modules = self._recording, self._modules
        if recording.closed:
            return
        recording.stacks.module_called(_frame(1))
        if _ident() != recording.thread and not recording.here():
            seen += (_AWAY, self._elsewhere.begin(module))
            return
        seen += (modules.depth,)
        modules.enter(module, args, kwargs)
        if issubclass(type(module), HAVE_ONE):
            whole = self._fast_paths.call(module, args, kwargs)
            if whole is not None:
                seen += (whole,)
                whole.begin()

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """The call returned."""
        if seen and seen[0] is _AWAY:
            self._elsewhere.end(seen[1])
        elif seen:
            for whole in seen[1:]:
                whole.done(result)
                whole.end()
            if self._recording.vitals is not None:
                self._modules.returned(seen[0], result)
            self._modules.leave(seen[0])
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """The call raised."""
        if seen and seen[0] is _AWAY:
            self._elsewhere.end(seen[1])
        elif seen:
            for whole in seen[1:]:
                whole.end(error)
            self._modules.leave(seen[0])
