"""Grad-mode regions: which switch put the program into which mode."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any

import torch

from autograd_inspector.capture.stacks import SKIP, classify
from autograd_inspector.capture.tape import Tape
from autograd_inspector.model.op import Region, RegionKind

_DECORATOR = "decorate_context"
_LEAVING = {"__exit__"}


def _kind(grad: bool, inference: bool) -> RegionKind:
    return "inference_mode" if inference else "enabled" if grad else "no_grad"


class Regions:
    """Follows the grad mode. ``mode`` is the (grad, inference) pair of the region that the tape is in."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.mode = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        self._stack: list[int] = []
        tape.regions.append(Region(0, _kind(*self.mode)))

    def switch(self, api: str) -> None:
        """The grad mode has just been set by a call that we saw; the caller's frame tells who asked."""
        mode = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        frame = _outside(sys._getframe(1))
        if frame is not None and frame.f_code.co_name in _LEAVING:
            self._leave(mode)
            return
        if mode == self.mode:
            self._stack.append(self.tape.region)
            return
        self._stack.append(self.tape.region)
        self._enter(mode, api, frame)

    def sync(self, grad: bool, inference: bool) -> None:
        """An op ran in another mode than the last known one: C++ switched it (a custom Function's forward does)."""
        mode = (grad, inference)
        for earlier in reversed(self._stack):
            if self.tape.regions[earlier].kind == _kind(*mode):
                self.tape.region, self.mode = earlier, mode
                return
        self._enter(mode, "C++ code", None)

    def _leave(self, mode: tuple[bool, bool]) -> None:
        if self._stack:
            self.tape.region = self._stack.pop()
            if self.tape.regions[self.tape.region].kind == _kind(*mode):
                self.mode = mode
                return
        if mode != self.mode:
            self._enter(mode, "restored", None)

    def _enter(self, mode: tuple[bool, bool], api: str, frame: FrameType | None) -> None:
        tape = self.tape
        decorated = _decorated(frame)
        site = tape.stacks.here(2)
        self.mode = mode
        tape.region = len(tape.regions)
        tape.regions.append(
            Region(
                tape.region,
                _kind(*mode),
                api=api,
                site=site,
                decorated=decorated.co_qualname if decorated is not None else "",
                definition=tape.stacks.of_code(decorated) if decorated is not None else -1,
                library=_library(frame),
                at=len(tape.ops),
            )
        )


def _outside(frame: FrameType | None) -> FrameType | None:
    """The first frame that is not the inspector's: torch's own __enter__ / __exit__ / __init__."""
    while frame is not None and "autograd_inspector" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame


def _decorated(frame: FrameType | None) -> CodeType | None:
    """The function under a ``@torch.no_grad()`` when the switch comes from the decorator."""
    for _ in range(6):
        if frame is None:
            return None
        if frame.f_code.co_name == _DECORATOR:
            # A frame of torch's own wrapper, never the user's: reading its locals keeps nothing of the program alive.
            func: Any = frame.f_locals.get("func")
            return getattr(func, "__code__", None)
        frame = frame.f_back
    return None


def _library(frame: FrameType | None) -> str:
    """torch's own module that made the switch on its own account ("torch.utils.checkpoint"), "" otherwise."""
    while frame is not None and classify(frame.f_code.co_filename) == SKIP:
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("torch.") and not module.startswith(("torch.autograd.grad_mode", "torch.utils._contextlib")):
            return module
        frame = frame.f_back
    return ""
