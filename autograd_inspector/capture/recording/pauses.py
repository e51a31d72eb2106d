"""Calls in which nothing is recorded, but for the program's own code that they call back."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from types import CodeType, FrameType


class Pause:
    """A running call. Inside, only functions of ``codes`` are the program's own, and what these call.

    What is running is read off the frames: whatever was handed to the call stays the very object that it was.
    """

    def __init__(self, frame: FrameType, codes: Iterable[CodeType] = ()) -> None:
        self.frame = frame
        self.inside = False
        """Whether the program's own code ran when that was last asked."""
        self.raised: tuple[int, str] = (-1, "")
        """(site of the program's own line in it, text) of the exception that left the call and ended the capture."""
        self._thread = threading.get_ident()
        self._codes = tuple(codes)  # Kept, so that their ids stay theirs. Their hash is a hash of all they contain.
        self._ids = frozenset(map(id, self._codes))

    @property
    def calls_back(self) -> bool:
        """Whether it may call the program's own code back."""
        return bool(self._ids)

    def asks(self, frame: FrameType | None) -> bool | None:
        """Whether that frame runs for the program's own code; None when the call is over."""
        if threading.get_ident() != self._thread:  # The engine has threads of its own, whose frames begin there.
            frame = sys._current_frames().get(self._thread)
        call, ids = self.frame, self._ids
        inside = False
        if ids:
            while frame is not None:
                if frame is call:
                    return inside
                if not inside and id(frame.f_code) in ids:
                    inside = True
                frame = frame.f_back
            return None
        while frame is not None:
            if frame is call:
                return False
            frame = frame.f_back
        return None

    def crossed(self) -> None:
        """The program's own code was entered, or was left: ``inside`` says which."""

    def lost(self) -> None:
        """An exception left the call."""
