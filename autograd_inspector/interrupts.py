"""Exceptions that a signal handler raised: they are the program's, wherever they struck."""

from __future__ import annotations

import inspect
import signal
from itertools import pairwise
from types import FrameType
from typing import Any

_SIGNALS = frozenset(map(int, signal.valid_signals()))


def is_interrupt(error: BaseException) -> bool:
    """Whether a signal handler raised it: one that is an Exception (a TimeoutError) is no failure of the inspector's.

    Python calls a handler with the signal's number and the frame that it interrupts, from which it is raised on.
    """
    interrupted: FrameType | None = None
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if interrupted is not None and _handles(frame, interrupted):
            return True
        interrupted, traceback = frame, traceback.tb_next
    return False


def _handles(frame: FrameType, interrupted: FrameType) -> bool:
    return any(value is interrupted and _is_signal(number) for number, value in pairwise(_given(frame)))


def _given(frame: FrameType) -> list[Any]:
    """The positional arguments of a function that has raised."""
    code = frame.f_code
    named, starred = code.co_argcount, code.co_flags & inspect.CO_VARARGS
    if named + bool(starred) == 0:
        return []
    values = frame.f_locals
    found = [values.get(name) for name in code.co_varnames[:named]]
    more = values.get(code.co_varnames[named + code.co_kwonlyargcount]) if starred else ()
    return [*found, *more] if isinstance(more, tuple) else found


def _is_signal(number: Any) -> bool:
    return isinstance(number, int) and number in _SIGNALS
