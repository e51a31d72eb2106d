"""Gradients that torch's own clipping reads, and the limit that it was given."""

from __future__ import annotations

import sys
from types import FrameType

from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.model.torch_names import CLIPPING

_LIMITS = ("max_norm", "clip_value")
_UNKNOWN = sys.float_info.max


def limit_of(frame: FrameType | None) -> float:
    """The limit of the clipping function that reads in that frame; the largest float: not known; -1: nothing clips."""
    clips = False
    while frame is not None and classify(frame.f_code.co_filename) == SKIP:
        if frame.f_globals.get("__name__") == CLIPPING:
            clips = True
            for name, value in locals_of(frame):
                if name in _LIMITS and isinstance(value, int | float):
                    return abs(float(value))
        frame = frame.f_back
    return _UNKNOWN if clips else -1.0
