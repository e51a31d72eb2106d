"""Each warning is raised anew where it would have been without our frames on the stack.

CPython counts frames to find the place of a warning, ours among them: what C++ raises beneath our torch-function mode
is attributed to us, and a stack level that leads past us ends too early. The place decides more than what is printed:
the filters ask for its module and line, and it is noted there that it was shown. So such a warning is taken before any
filter of the program's sees it, and raised again at its own place.
"""

from __future__ import annotations

import functools
import sys
import threading
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.warnings import front_filter as front
from autograd_inspector.capture.undisturbed.warnings import place
from autograd_inspector.capture.undisturbed.warnings.own import InspectorWarning
from autograd_inspector.capture.undisturbed.warnings.place import Place
from autograd_inspector.capture.undisturbed.warnings.stack import Stack
from autograd_inspector.interrupts import is_interrupt

_SHOWS = "_showwarnmsg"
_CHANGED = ("_filters_mutated", "_filters_mutated_lock_held")
"""What the module ``warnings`` calls after each change of its filters; the second from Python 3.14 on."""


class _Thread(threading.local):
    """Where this thread is with a warning."""

    again: bool = False
    """One is being raised again: the program's filters have it now."""
    taken: str | None = None
    """The module of one that was taken, and is about to be shown."""


class Warned:
    """Takes the warnings that our frames displace, and raises them where they belong."""

    def __init__(self) -> None:
        self._thread = _Thread()
        self._front = front.Front()

    def install(self, into: Installation) -> None:
        """Stand before the program's filters, and before the function that gets every warning that passed them."""
        attributes = vars(warnings)
        if _SHOWS not in attributes:
            return
        into.replace(warnings, _SHOWS, self._showing(attributes[_SHOWS]))
        for name in _CHANGED:
            if name in attributes:
                into.replace(warnings, name, self._changing(attributes[name]))
        into.made(self._front.take_out)
        into.replace(front, "TAKES", self._takes)
        self._front.put()

    def _changing(self, original: Callable[[], None]) -> Callable[[], None]:
        @functools.wraps(original)
        def changed() -> None:
            try:
                self._front.put()
            finally:  # An interrupt must not keep what the program has changed from counting.
                original()

        return changed

    def _takes(self, frame: FrameType, module: str) -> bool:
        """Whether some frame of that module has another place in the stack than it would have without us."""
        thread = self._thread
        thread.taken = None
        if thread.again:
            return False
        try:
            stack = Stack(frame)
            displaced = stack.displaces and any(
                each is not stack.then(level) and each.f_globals.get("__name__", "<string>") == module
                for level, each in enumerate(stack.frames)
            )
        except Exception as failure:  # The warning is the program's, and goes its way.
            if is_interrupt(failure):
                raise
            return False
        if displaced:
            thread.taken = module
        return displaced

    def _showing(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        @functools.wraps(original)
        def show(message: Any) -> None:
            thread = self._thread
            taken, thread.taken = thread.taken, None
            if thread.again:
                thread.again = False
                original(message)
                return
            try:
                program_place = _program_place(Stack(sys._getframe(1)), message, taken)
            except Exception as failure:
                if is_interrupt(failure):
                    raise
                program_place = None
            if program_place is None:
                original(message)
                return
            if isinstance(program_place, Place):
                thread.again = True
                try:
                    program_place.warn(message)
                finally:
                    thread.again = False

        return show


class _Ours:
    """No place at all: an observer did what is warned of, and not the program."""


def _program_place(stack: Stack, message: Any, taken: str | None) -> Place | _Ours | None:
    """Where a warning that CPython shows belongs; None where it is there already."""
    if issubclass(message.category, InspectorWarning):
        user = (frame for frame in stack.without_us if classify(frame.f_code.co_filename) == USER)
        return place.of_frame(next(user, stack.without_us[0])) if taken is not None else None
    if stack.observing():
        return _Ours()
    levels = [
        level
        for level, frame in enumerate(stack.frames)
        if (frame.f_code.co_filename, frame.f_lineno) == (message.filename, message.lineno)
    ]
    if not levels:  # It was raised for a place that was given, not counted.
        return place.of_module(message, taken, stack.frames) if taken is not None else None
    level = levels[0]
    frame, then = stack.frames[level], stack.then(level)
    if taken is None:
        if frame is then:
            return None
        place.forget(message, frame)  # A filter of the program's stands before ours.
    return place.of_frame(then) if then is not None else place.of_no_frame()
