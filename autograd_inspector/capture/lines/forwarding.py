"""Frames of ``__torch_function__`` that hand on the call that they were given: it is their caller's call."""

from __future__ import annotations

import sys
from types import FrameType, MethodWrapperType
from typing import Any

_HANDLER = "__torch_function__"
_FUNCTION = 0x1
"""inspect.CO_OPTIMIZED: the frame's locals are slots, and f_locals is a copy of them (before Python 3.13)."""
_UNSHARED = 3
"""References to the copy when nobody but the frame holds it: the frame, our variable, getrefcount's argument."""


def locals_of(frame: FrameType) -> list[tuple[str, Any]]:
    """(name, value) of a running function's local variables.

    Before Python 3.13 ``f_locals`` is a dictionary that the frame keeps: left as it is, it would keep every local alive
    that the program deletes later. So it is emptied again, unless the program itself holds it.
    """
    if not frame.f_code.co_flags & _FUNCTION:
        return []
    snapshot = frame.f_locals
    found = list(snapshot.items())
    if sys.version_info < (3, 13) and sys.getrefcount(snapshot) <= _UNSHARED:
        snapshot.clear()
    return found


def forwarding() -> set[int]:
    """The ids of the frames, from here outwards, that were handed the same call as the next handler inside them."""
    found: set[int] = set()
    inner: Any = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == _HANDLER:
            given = _given(frame)
            if given is not None and _same(given, inner):
                found.add(id(frame))
            inner = given
        frame = frame.f_back
    return found


def _given(frame: FrameType) -> Any:
    """The function that a handler was called for: what it has after ``self`` or ``cls``."""
    names = frame.f_code.co_varnames[1:2] if frame.f_code.co_argcount > 1 else ()
    return next((value for name, value in locals_of(frame) if name in names), None)


def _same(one: Any, other: Any) -> bool:
    """Of a slot (``Tensor.grad.__get__``) each look makes another object."""
    return one is other or (type(one) is type(other) is MethodWrapperType and bool(one == other))


def is_handler(frame: FrameType) -> bool:
    """Whether a frame is a ``__torch_function__``."""
    return frame.f_code.co_name == _HANDLER
