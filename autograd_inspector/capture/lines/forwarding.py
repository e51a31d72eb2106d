"""Frames of ``__torch_function__`` that hand on the call that they were given: it is their caller's call."""

from __future__ import annotations

import sys
from types import FrameType, MethodWrapperType
from typing import Any

from autograd_inspector.capture.lines.frame_locals import locals_of

_HANDLER = "__torch_function__"


def forwarding(inner: Any = None) -> set[int]:
    """The ids of the frames, from here outwards, that were handed the same call as the next handler inside them.

    ``inner``: the function that a handler without a frame, one in C, was called for.
    """
    frame_ids: set[int] = set()
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == _HANDLER:
            arguments = _arguments_of(frame)
            if arguments is not None and _same(arguments, inner):
                frame_ids.add(id(frame))
            inner = arguments
        frame = frame.f_back
    return frame_ids


def _arguments_of(frame: FrameType) -> Any:
    """The function that a handler was called for: what it has after ``self`` or ``cls``."""
    names = frame.f_code.co_varnames[1:2] if frame.f_code.co_argcount > 1 else ()
    return next((value for name, value in locals_of(frame) if name in names), None)


def _same(one: Any, other: Any) -> bool:
    """Of a slot (``Tensor.grad.__get__``) each look makes another object."""
    return one is other or (type(one) is type(other) is MethodWrapperType and bool(one == other))


def is_handler(frame: FrameType) -> bool:
    """Whether a frame is a ``__torch_function__``."""
    return frame.f_code.co_name == _HANDLER
