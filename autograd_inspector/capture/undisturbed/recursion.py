"""Python's recursion limit counts our frames as well: while a capture is open it is the program's, and some for us."""

from __future__ import annotations

import sys
from functools import partial

from autograd_inspector.capture.undisturbed.installing import Installation

FOR_OBSERVERS = 97
"""What an observer needs below the deepest call of the program, with room to spare."""
FOR_ENGINE = 5
"""What lies between two runs of the engine, one inside the other, that would not without us: the torch-function pass
of ``backward``. Reentrant checkpoints nest them."""

OUT_OF_STACK = "The program came to the end of Python's stack: some of what ran there was not recorded."


class RecursionLimit:
    """The program's own limit, plus the frames that are ours. The program may set another one at any time."""

    def __init__(self) -> None:
        self.ours = 0
        """So many frames are ours, at the most."""
        self._programs: dict[int, int] = {}
        """A limit that was set here -> the program's own then."""

    def install(self, into: Installation) -> None:
        """Room for the observers; afterwards the program has its own limit, whatever happened in between."""
        into.made(partial(self.put, 0))
        self.put(FOR_OBSERVERS)

    def put(self, ours: int) -> None:
        """Let so many frames of ours lie on the stack, beside those that the program may have."""
        now = sys.getrecursionlimit()
        programs = self._programs.get(now, now)
        self._programs[programs + ours] = programs
        self.ours = ours
        try:
            sys.setrecursionlimit(programs + ours)
        except RecursionError:  # The stack is deeper than that at this moment.
            return
