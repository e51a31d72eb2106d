"""Exceptions that a signal handler raised: they are the program's, wherever they struck."""

from __future__ import annotations

import functools
import inspect
import signal
from itertools import pairwise
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from autograd_inspector.raised import traceback_of

_SIGNALS = frozenset(map(int, signal.valid_signals()))


def is_interrupt(error: BaseException) -> bool:
    """Whether a signal handler raised it: one that is an Exception (a TimeoutError) is no failure of the inspector's.

    Python calls a handler with the signal's number and the frame that it interrupts, from which it is raised on. It
    may have put other values in their place by then: then it is known as the handler that is registered.
    """
    interrupted: FrameType | None = None
    traceback = traceback_of(error)
    later: list[CodeType] = []
    while traceback is not None:
        frame = traceback.tb_frame
        if interrupted is not None:
            if _handles(frame, interrupted):
                return True
            later.append(frame.f_code)
        interrupted, traceback = frame, traceback.tb_next
    if not later:
        return False
    registered = {id(code) for code in map(code_called, _handlers()) if code is not None}
    return any(id(code) in registered for code in later)


def _handlers() -> list[Any]:
    handlers = map(signal.getsignal, _SIGNALS)
    return [handler for handler in handlers if handler is not None and type(handler) is not signal.Handlers]


def code_called(handler: Any) -> CodeType | None:
    """The code that a call of a handler runs; None of what is written in C."""
    for _ in range(_DEEPEST):
        kind = type(handler)
        if kind is FunctionType:
            code: CodeType = handler.__code__
            return code
        if kind is MethodType:
            handler = handler.__func__
        elif issubclass(kind, functools.partial):
            handler = _FUNC(handler)
        else:
            handler = next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)
    return None


_FUNC = vars(functools.partial)["func"].__get__
_DEEPEST = 8
"""A partial of a bound method of a callable object is four deep."""


def _handles(frame: FrameType, interrupted: FrameType) -> bool:
    return any(value is interrupted and _is_signal(number) for number, value in pairwise(_positional_arguments(frame)))


def _positional_arguments(frame: FrameType) -> list[Any]:
    """The positional arguments of a function that has raised."""
    code = frame.f_code
    named, starred = code.co_argcount, code.co_flags & inspect.CO_VARARGS
    if named + bool(starred) == 0:
        return []
    values = frame.f_locals
    named_values = [values.get(name) for name in code.co_varnames[:named]]
    more = values.get(code.co_varnames[named + code.co_kwonlyargcount]) if starred else ()
    return [*named_values, *more] if isinstance(more, tuple) else named_values


def _is_signal(number: Any) -> bool:
    return isinstance(number, int) and number in _SIGNALS
