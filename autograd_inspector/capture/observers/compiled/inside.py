"""A capture that a compiled function opens: Dynamo would trace the recorder with the function."""

from __future__ import annotations

from types import FrameType

from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.torch_private.compiled import (
    COMPILED_CALL,
    DISABLED_CALL,
    is_dynamos_frame,
    runs_eagerly,
)

_BORDERS = frozenset({COMPILED_CALL, DISABLED_CALL})


class InsideCompiledCodeError(RuntimeError):
    """Nothing can be recorded from where the capture was opened."""

    def __init__(self) -> None:
        super().__init__(
            "inspect() was called inside a function that torch.compile compiles. Call it around the compiled call, or "
            "put torch.compiler.disable on the function that calls it."
        )


def refuse_inside_compiled_code(frame: FrameType) -> None:
    """Raise InsideCompiledCodeError where Dynamo compiles what calls this."""
    borders = (each.f_code.co_name for each in outwards(frame) if is_dynamos_frame(each))
    if next((name for name in borders if name in _BORDERS), "") == COMPILED_CALL and not runs_eagerly():
        raise InsideCompiledCodeError
