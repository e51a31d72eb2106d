"""torch.compile'd regions: one opaque op each, compiled and run without any observer in sight."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import torch

from autograd_inspector.capture.calls.opaque import Opaque
from autograd_inspector.capture.guard import Guard
from autograd_inspector.capture.observers import Observers
from autograd_inspector.capture.patches import replaced
from autograd_inspector.capture.torch_private.compiled import (
    COMPILED_CALL,
    COMPILED_MODULE,
    SWITCH,
    dynamo_shows_itself,
    original_of,
)
from autograd_inspector.capture.torch_private.resolving import UnsupportedTorch

OPAQUE = "torch.compile made some of the code that ran: each call of it is one op, and what it did inside is not seen."


class Compiled:
    """Takes the observers away while compiled code is compiled or runs, and notes what went in and came out."""

    def __init__(self, guard: Guard, observers: Observers) -> None:
        self._guard = guard
        self._observers = observers
        self._open: list[tuple[FrameType, ExitStack]] = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Stand where dynamo is switched on and off, and around compiled modules."""
        with ExitStack() as stack:
            if not self._stand_in(stack, used=False):
                # dynamo takes seconds to import, so torch.compile does it on first use.
                stack.enter_context(replaced(torch, "compile", self._compiling(torch.compile, stack)))
            yield

    def _compiling(self, original: Callable[..., Any], stack: ExitStack) -> Callable[..., Any]:
        standing = False

        @functools.wraps(original)
        def compiling(*args: Any, **kwargs: Any) -> Any:
            nonlocal standing
            result = original(*args, **kwargs)
            if not standing and not self._guard.tape.closed:
                try:
                    standing = self._stand_in(stack, used=True)
                except UnsupportedTorch as failure:
                    self._observers.remove()
                    self._guard.on_failure(failure)
            return result

        return compiling

    def _stand_in(self, stack: ExitStack, *, used: bool) -> bool:
        """Whether dynamo is there to stand in for; raises UnsupportedTorch where it would trace the observers."""
        if not dynamo_shows_itself(used=used):
            return False
        dynamo, module = SWITCH.owner(), COMPILED_MODULE.owner()
        stack.enter_context(replaced(dynamo, SWITCH.name, self._switching(vars(dynamo)[SWITCH.name])))
        stack.enter_context(replaced(module, COMPILED_MODULE.name, self._calling(vars(module)[COMPILED_MODULE.name])))
        return True

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            with self._region(module, args, kwargs) as done:
                result = original(module, *args, **kwargs)
                done(result)
            return result

        return call

    def _switching(self, original: Callable[[Any], Any]) -> Callable[[Any], Any]:
        @functools.wraps(original)
        def switch(callback: Any) -> Any:
            frame = sys._getframe(1)
            if frame.f_code.co_name != COMPILED_CALL:
                return original(callback)
            if self._open and self._open[-1][0] is frame:
                before = original(callback)
                self._open.pop()[1].close()
                return before
            if callback not in {None, False}:
                self._enter(frame)
            return original(callback)

        return switch

    def _enter(self, frame: FrameType) -> None:
        """A compiled function begins. The frame is torch's: its locals hold the arguments and, later, the result."""
        given = frame.f_locals
        stack = ExitStack()
        done = stack.enter_context(self._region(given.get("fn"), given.get("args", ()), given.get("kwargs", {})))
        stack.callback(lambda: done(frame.f_locals["result"]) if "result" in frame.f_locals else None)
        self._open.append((frame, stack))

    def _region(self, what: Any, args: Any, kwargs: Any) -> Opaque:
        self._guard.tape.note(OPAQUE)
        return Opaque(self._guard, self._observers.away(), f"compiled {_name_of(what)}", what, (args, kwargs))


def _name_of(what: Any) -> str:
    module = original_of(what)
    return type(module).__name__ if module is not None else getattr(what, "__name__", type(what).__name__)
