"""Which frames of a stack are the program's, and would be there without us."""

from __future__ import annotations

from types import FrameType

import torch.overrides

from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.own_files import is_own, runs_a_program

_RECORDER = "__torch_function__"
"""Of ours only the recorder's torch-function mode has it."""
_DISPATCHER = torch.overrides.handle_torch_function.__code__
_NEAR = 5
"""So many frames outside the dispatcher the call of the same torch function is found at the latest."""


def program_frames(frames: list[FrameType]) -> list[FrameType]:
    """Of frames, innermost first, those that are not ours, nor what torch does for our torch-function mode."""
    kept: list[FrameType] = []
    skipped = 0
    for place, frame in enumerate(frames):
        if skipped:
            skipped -= 1
        elif not is_own(frame):
            kept.append(frame)
        elif runs_a_program(frame):
            break
        elif frame.f_code.co_name == _RECORDER:
            skipped = _detour(frame, frames[place + 1 :])
    return kept


def called_by_program(frame: FrameType) -> bool:
    """Whether the function in a frame was called from outside torch."""
    caller = frame.f_back
    return caller is not None and classify(caller.f_code.co_filename) != SKIP


def _detour(recorder: FrameType, outside: list[FrameType]) -> int:
    """A torch function that is written in Python hands itself to a mode, which calls it again: skip the first call."""
    if not outside or outside[0].f_code is not _DISPATCHER:
        return 0
    code = getattr(recorder.f_locals.get("func"), "__code__", None)
    for place, frame in enumerate(outside[1 : 1 + _NEAR], 2):
        if frame.f_code is code:
            return place
    return 2
