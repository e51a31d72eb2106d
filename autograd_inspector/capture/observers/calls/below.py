"""Which calls of torch are made below autograd, where nothing is the program's own."""

from __future__ import annotations

from types import FrameType

from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.torch_private.told import COMPILED_BACKWARD


def is_below(frame: FrameType | None) -> bool:
    """Whether a ``__torch_dispatch__`` calls, or torch's own frames run the backward of a compiled region."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__torch_dispatch__" or COMPILED_BACKWARD in code.co_filename:
            return True
        if classify(code.co_filename) != SKIP:
            return False
        frame = frame.f_back
    return False
