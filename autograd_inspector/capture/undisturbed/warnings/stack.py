"""The stack from which something warns: as it is, and as it would be without us."""

from __future__ import annotations

from collections.abc import Iterable
from types import FrameType

from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.lines.program_frames import program_frames
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.own_files import is_own

_GUARD = Guard.run.__code__


class Stack:
    """Frames, innermost first, as CPython counts them for ``stacklevel``."""

    def __init__(self, innermost: FrameType | None) -> None:
        frames = list(outwards(innermost))
        self.frames = _counted(frames)
        self.without_us = _counted(program_frames(frames))
        self.displaces = any(map(is_own, self.frames))
        """Whether a frame of ours is among them."""

    def then(self, level: int) -> FrameType | None:
        """The frame that is so many levels out without us, None where the stack ends before."""
        return self.without_us[level] if level < len(self.without_us) else None

    def observing(self) -> bool:
        """Whether it is a step of an observer that warns, and not the program."""
        inner = next((place for place, frame in enumerate(self.frames) if is_own(frame)), len(self.frames))
        for frame in self.frames[inner:]:
            if frame.f_code is _GUARD:
                return True
            if not is_own(frame):
                return False
        return False


def _counted(frames: Iterable[FrameType]) -> list[FrameType]:
    """Those of the import system do not count, but where it warns itself."""
    all_frames = list(frames)
    if all_frames and _imports(all_frames[0]):
        return all_frames
    return [frame for frame in all_frames if not _imports(frame)]


def _imports(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    return "importlib" in name and "_bootstrap" in name
