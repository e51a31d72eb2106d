"""Python's recursion limit counts our frames as well: while a capture is open it is the program's, and some for us.

The program is told its own, and sets its own, through the two functions of ``sys``. Whoever took these from there
before the capture finds ours on top, and may set that again: the program's own is what it was.
"""

from __future__ import annotations

import sys
from typing import Any

from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around

FOR_OBSERVERS = 97
"""What an observer needs below the deepest call of the program, with room to spare."""
FOR_ENGINE = 5
"""What lies between two runs of the engine, one inside the other, that would not without us: the torch-function pass
of ``backward``. Reentrant checkpoints nest them."""

OUT_OF_STACK = "The program reached the end of Python's stack: some calls there were not recorded."

_limit, _set_limit = sys.getrecursionlimit, sys.setrecursionlimit
"""Python's own, which a capture stands before."""


class RecursionLimit:
    """The program's own limit, plus the frames that are ours. The program may set another one at any time."""

    def __init__(self) -> None:
        self.ours = 0
        """So many frames are ours, at the most."""
        self._over = False
        self._programs: dict[int, int] = {}
        """A limit that was set here -> the program's own then."""

    def install(self, into: Installation) -> None:
        """Room for the observers; afterwards the program has its own limit, whatever happened in between."""
        into.made(self._end)
        around(into, sys, "getrecursionlimit", _Told(self))
        around(into, sys, "setrecursionlimit", _Set(self))
        self.put(FOR_OBSERVERS)

    def put(self, ours: int) -> None:
        """Let so many frames of ours lie on the stack, beside those that the program may have; none after the end."""
        self.ours = 0 if self._over else ours
        self._put(self.of_program())

    def of_program(self) -> int:
        """The limit without our frames."""
        now = _limit()
        return self._programs.get(now, now)

    def was_set(self, programs: int) -> None:
        """The program has set another one."""
        self._put(programs)

    def _put(self, programs: int) -> None:
        self._programs[programs + self.ours] = programs
        try:
            _set_limit(programs + self.ours)
        except RecursionError:  # The stack is deeper than that at this moment.
            return

    def _end(self) -> None:
        self._over = True
        self.put(0)


class _Told:
    """A probe where the program asks for the limit."""

    def __init__(self, limit: RecursionLimit) -> None:
        self._limit = limit

    def before(self, seen: list[Any], /, *_: Any, **__: Any) -> None:
        """It is about to."""

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It has: it gets its own."""
        return self._limit.of_program()

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It asked otherwise than it may."""


class _Set(_Told):
    """A probe where the program sets it."""

    def before(self, seen: list[Any], /, *arguments: Any, **_: Any) -> None:
        """It is about to."""
        seen += arguments

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It has."""
        self._limit.was_set(seen[0])
        return result
