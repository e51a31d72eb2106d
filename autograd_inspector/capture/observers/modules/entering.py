"""The calls of modules, told to those who follow them: where the program goes in, and where it comes out."""

from __future__ import annotations

import sys
from typing import Any

from torch import nn

from autograd_inspector.capture.observers.calls.fast_paths import FastPaths
from autograd_inspector.capture.observers.calls.opaque import Opaque
from autograd_inspector.capture.observers.modules.calls import Modules
from autograd_inspector.capture.torch_private.modules import CALL
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around


class _OpenCall:
    """A call that has begun: how many are open outside it, and what it is as a whole where it is one op."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.whole: Opaque | None = None


class ModuleCalls:
    """A probe in the method that every call of a module comes through, whoever makes it.

    Not a global forward hook: one is enough for torch to run each module through its machinery of hooks, two frames
    deeper, and for dynamo to guard against it.
    """

    def __init__(self, modules: Modules, fast_paths: FastPaths) -> None:
        self._modules = modules
        self._fast_paths = fast_paths
        self._recording = modules.recording

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        around(into, nn.Module, CALL.name if CALL.owner() is not None else "__call__", self)

    def before(self, seen: list[_OpenCall], module: nn.Module, /, *args: Any, **kwargs: Any) -> None:
        """A call begins. Nothing is seen in a thread that is not part of the capture."""
        self._recording.stacks.module_called(sys._getframe(1))
        if not self._recording.here():
            return
        entered = _OpenCall(self._modules.depth)
        seen += (entered,)
        self._modules.enter(module, args, kwargs)
        entered.whole = self._fast_paths.call(module, args, kwargs)
        if entered.whole is not None:
            entered.whole.begin()

    def after(self, seen: list[_OpenCall], result: Any, /) -> Any:
        """The call returned."""
        for entered in seen:
            if entered.whole is not None:
                entered.whole.done(result)
                entered.whole.end()
            if self._recording.vitals is not None:
                self._modules.returned(entered.depth, result)
            self._modules.leave(entered.depth)
        return result

    def failed(self, seen: list[_OpenCall], error: BaseException, /) -> None:
        """The call raised."""
        for entered in seen:
            if entered.whole is not None:
                entered.whole.end(error)
            self._modules.leave(entered.depth)
