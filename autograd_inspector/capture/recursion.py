"""Python's recursion limit counts our frames as well: while a capture is open it is the program's, and some for us."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

FOR_OBSERVERS = 97
"""What an observer needs below the deepest call of the program, with room to spare."""
FOR_ENGINE = 5
"""What lies between two runs of the engine, one inside the other, that would not without us: the torch-function pass
of ``backward``. Reentrant checkpoints nest them."""

OUT_OF_STACK = "The program came to the end of Python's stack: some of what ran there was not recorded."


class RecursionLimit:
    """The program's own limit, plus the frames that are ours. The program may set another one at any time."""

    def __init__(self) -> None:
        self._ours = 0
        self._programs: dict[int, int] = {}
        """A limit that was set here -> the program's own then."""

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Room for the observers; on exit the program has its own limit, whatever happened in between."""
        self._add(FOR_OBSERVERS)
        try:
            yield
        finally:
            self._add(-self._ours)

    @contextmanager
    def deeper(self, frames: int) -> Iterator[None]:
        """Inside, so many more frames of ours lie on the stack."""
        self._add(frames)
        try:
            yield
        finally:
            self._add(-frames)

    def _add(self, frames: int) -> None:
        now = sys.getrecursionlimit()
        programs = self._programs.get(now, now)
        self._ours += frames
        self._programs[programs + self._ours] = programs
        try:
            sys.setrecursionlimit(programs + self._ours)
        except RecursionError:  # The stack is deeper than that at this moment.
            return
