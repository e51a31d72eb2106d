"""The recorder is off while a step runs in which nothing is recorded: torch would hand it each call for nothing."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from torch.optim import Optimizer

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.modes import STEP_LEFT
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.mode_stack import HiddenMode, put_on, take_off
from autograd_inspector.capture.undisturbed.patches import around

_STEP = Optimizer.profile_hook_step(id).__code__
"""The code that torch runs around each step: the hooks are called in it, inside a block of the profiler's."""


class StandingAside:
    """Takes the recorder off torch's stack of modes as a step begins, and puts it back however the step ends.

    An exception that leaves a step calls no hook. It does leave the profiler's block, which the frame of the step has
    opened: a probe there puts the recorder back before the program can go on.
    """

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._frame: FrameType | None = None
        """Of the step that runs without the recorder."""
        self._told = False
        """Whether the end of each such block is seen."""

    def install(self, into: Installation) -> None:
        """The probe; without it the recorder stays where it is."""
        owner = STEP_LEFT.owner()
        if owner is not None:
            around(into, owner, STEP_LEFT.name, self)
        self._told = owner is not None and owner.__name__ in _STEP.co_names

    def begins(self, frame: FrameType) -> None:
        """A step begins in that frame. One that calls the program's code back, or that is watched, is recorded."""
        recording, mode = self._recording, self._recording.mode
        if (
            self._told
            and frame.f_code is _STEP
            and recording.still is frame
            and recording.thread == threading.get_ident()
            and isinstance(mode, HiddenMode)
        ):
            self._frame = frame  # Before it is taken off: an interrupt may strike.
            take_off(mode)

    def ends(self) -> None:
        """It is over; right whether or not one had begun."""
        mode = self._recording.mode
        if self._frame is not None and isinstance(mode, HiddenMode) and not self._recording.closed:
            put_on(mode)
        self._frame = None

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """A block of the profiler's is left: if it is that of the step, the step is over."""
        if self._frame is not None and sys._getframe(2) is self._frame:
            self.ends()

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was left."""
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """An interrupt struck meanwhile."""
        self.ends()
