"""Which frames run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType


def outwards(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that it was called from, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def running() -> Iterator[FrameType]:
    """The frames of all threads."""
    for innermost in sys._current_frames().values():
        yield from outwards(innermost)
