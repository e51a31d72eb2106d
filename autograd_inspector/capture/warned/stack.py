"""The stack from which something warns: as it is, and as it would be without us."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import torch.overrides

from autograd_inspector.capture.calls.ops import Recorder
from autograd_inspector.capture.guard import Guard

_HOME = Path(__file__).resolve().parents[2]
_PACKAGE = f"{_HOME}/"
_RUNNERS = f"{_HOME / 'terminal'}/"
"""Where the frames are that run a whole program: without us it has none outside it."""
_RECORDER = Recorder.__torch_function__.__code__
_GUARD = Guard.__call__.__code__
_DISPATCHER = torch.overrides.handle_torch_function.__code__
_NEAR = 5
"""So many frames outside the dispatcher the call of the same torch function is found at the latest."""


class Stack:
    """Frames, innermost first, as CPython counts them for ``stacklevel``."""

    def __init__(self, innermost: FrameType | None) -> None:
        frames = []
        while innermost is not None:
            frames.append(innermost)
            innermost = innermost.f_back
        self.frames = _counted(frames)
        self.without_us = _counted(_program(frames))
        self.displaces = any(map(_is_ours, self.frames))
        """Whether a frame of ours is among them."""

    def then(self, level: int) -> FrameType | None:
        """The frame that is so many levels out without us, None where the stack ends before."""
        return self.without_us[level] if level < len(self.without_us) else None

    def observing(self) -> bool:
        """Whether it is a step of an observer that warns, and not the program."""
        inner = next((place for place, frame in enumerate(self.frames) if _is_ours(frame)), len(self.frames))
        for frame in self.frames[inner:]:
            if frame.f_code is _GUARD:
                return True
            if not _is_ours(frame):
                return False
        return False


def _is_ours(frame: FrameType) -> bool:
    return frame.f_code.co_filename.startswith(_PACKAGE)


def _program(frames: list[FrameType]) -> list[FrameType]:
    """Without our frames, and without what torch does for our torch-function mode."""
    kept: list[FrameType] = []
    skipped = 0
    for place, frame in enumerate(frames):
        if skipped:
            skipped -= 1
        elif not _is_ours(frame):
            kept.append(frame)
        elif frame.f_code.co_filename.startswith(_RUNNERS):
            break
        elif frame.f_code is _RECORDER:
            skipped = _detour(frame, frames[place + 1 :])
    return kept


def _detour(recorder: FrameType, outside: list[FrameType]) -> int:
    """A torch function that is written in Python hands itself to a mode, which calls it again: skip the first call."""
    if not outside or outside[0].f_code is not _DISPATCHER:
        return 0
    code = getattr(recorder.f_locals.get("func"), "__code__", None)
    for place, frame in enumerate(outside[1 : 1 + _NEAR], 2):
        if frame.f_code is code:
            return place
    return 2


def _counted(frames: Iterable[FrameType]) -> list[FrameType]:
    """Those of the import system do not count, but where it warns itself."""
    found = list(frames)
    if found and _imports(found[0]):
        return found
    return [frame for frame in found if not _imports(frame)]


def _imports(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return "importlib" in name and "_bootstrap" in name
