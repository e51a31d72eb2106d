"""The calls of modules, told to those who follow them: where the program goes in, and where it comes out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from autograd_inspector.capture.calls.fast_paths import FastPaths
from autograd_inspector.capture.calls.opaque import Opaque
from autograd_inspector.capture.modules.calls import Modules
from autograd_inspector.capture.patches import around
from autograd_inspector.capture.torch_private.modules import CALL

_Entered = tuple[int, Opaque | None]
"""How many calls are open outside one, and what it is as a whole where it is one op."""


class ModuleCalls:
    """A probe in the method that every call of a module comes through, whoever makes it.

    Not a global forward hook: one is enough for torch to run each module through its machinery of hooks, two frames
    deeper, and for dynamo to guard against it.
    """

    def __init__(self, modules: Modules, fast_paths: FastPaths) -> None:
        self._modules = modules
        self._fast_paths = fast_paths
        self._tape = modules.tape

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Put the probe in place."""
        with around(nn.Module, CALL.name if CALL.owner() is not None else "__call__", self):
            yield

    def before(self, module: nn.Module, /, *args: Any, **kwargs: Any) -> _Entered | None:
        """A call begins; None in a thread that is not part of the capture."""
        self._tape.stacks.module_called(sys._getframe(1))
        if not self._tape.here():
            return None
        return self._modules.enter(module), self._fast_paths.enter(module, args, kwargs)

    def after(self, entered: _Entered | None, result: Any, /) -> Any:
        """The call returned."""
        if entered is not None:
            depth, region = entered
            if region is not None:
                region.done(result)
                region.__exit__()
            self._modules.leave(depth)
        return result

    def failed(self, entered: _Entered | None, error: BaseException, /) -> None:
        """The call raised."""
        if entered is not None:
            depth, region = entered
            if region is not None:
                region.__exit__(None, error)
            self._modules.leave(depth)
