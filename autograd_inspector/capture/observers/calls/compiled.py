"""torch.compile'd regions: one opaque op each, compiled and run without any observer in sight."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.observers.calls.opaque import Opaque
from autograd_inspector.capture.observers.installed import Observers
from autograd_inspector.capture.torch_private.compiled import (
    COMPILED_CALL,
    COMPILED_MODULE,
    SWITCH,
    dynamo_shows_itself,
    original_of,
)
from autograd_inspector.capture.torch_private.resolving import UnsupportedTorch
from autograd_inspector.capture.undisturbed.installing import Installation

OPAQUE = "torch.compile made some of the code that ran: each call of it is one op, and what it did inside is not seen."


class Compiled:
    """Takes the observers away while compiled code is compiled or runs, and notes what went in and came out."""

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._guard = observers.recorder.guard
        self._open: list[tuple[FrameType, Opaque]] = []

    def install(self, into: Installation) -> None:
        """Stand where dynamo is switched on and off, and around compiled modules."""
        into.made(self._open.clear)
        if not self._stand_in(into, used=False):
            # dynamo takes seconds to import, so torch.compile does it on first use.
            into.replace(torch, "compile", self._compiling(torch.compile, into))

    def _compiling(self, original: Callable[..., Any], into: Installation) -> Callable[..., Any]:
        standing = False

        @functools.wraps(original)
        def compiling(*args: Any, **kwargs: Any) -> Any:
            nonlocal standing
            result = original(*args, **kwargs)
            if not standing and not self._guard.recording.closed:
                try:
                    standing = self._stand_in(into, used=True)
                except UnsupportedTorch as failure:
                    self._guard.run(into.take_back)
                    self._guard.on_failure(failure)
            return result

        return compiling

    def _stand_in(self, into: Installation, *, used: bool) -> bool:
        """Whether dynamo is there to stand in for; raises UnsupportedTorch where it would trace the observers."""
        if not dynamo_shows_itself(used=used):
            return False
        dynamo, module = SWITCH.owner(), COMPILED_MODULE.owner()
        into.replace(dynamo, SWITCH.name, self._switching(vars(dynamo)[SWITCH.name]))
        into.replace(module, COMPILED_MODULE.name, self._calling(vars(module)[COMPILED_MODULE.name]))
        return True

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            region = self._region(module, args, kwargs)
            try:
                region.begin()
                result = original(module, *args, **kwargs)
                region.done(result)
                region.end()
            except BaseException as error:
                try:
                    region.end(error)
                except BaseException:
                    region.end(error)
                    raise
                raise
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
                self._leave()
                return before
            if callback not in {None, False}:
                self._enter(frame)
            return original(callback)

        return switch

    def _enter(self, frame: FrameType) -> None:
        """A compiled function begins. The frame is torch's: its locals hold the arguments and, later, the result."""
        while self._open and all(each is not self._open[-1][0] for each in outwards(frame)):
            self._leave()  # An interrupt kept it from being left.
        given = frame.f_locals
        region = self._region(given.get("fn"), given.get("args", ()), given.get("kwargs", {}))
        self._open.append((frame, region))
        region.begin()

    def _leave(self) -> None:
        frame, region = self._open[-1]
        if "result" in frame.f_locals:
            region.done(frame.f_locals["result"])
        region.end()
        self._open.pop()

    def _region(self, what: Any, args: Any, kwargs: Any) -> Opaque:
        self._guard.recording.note(OPAQUE)
        name = f"compiled {_name_of(what)}"
        return Opaque(self._observers.recorder, name, what, (args, kwargs), self._observers)


def _name_of(what: Any) -> str:
    module = original_of(what)
    return type(module).__name__ if module is not None else getattr(what, "__name__", type(what).__name__)
