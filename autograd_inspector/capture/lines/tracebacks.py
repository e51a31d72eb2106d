"""Tracebacks without the inspector's frames: the same tail, and no frame that keeps a tensor alive."""

from __future__ import annotations

from types import FrameType, TracebackType

from autograd_inspector.capture.lines.stacks import USER, classify
from autograd_inspector.own_files import is_own
from autograd_inspector.raised import cause_of, context_of, inside_group, put_traceback, traceback_of

_DISPATCH = "handle_torch_function"


def without_own_frames(error: BaseException | None) -> None:
    """Take the inspector's frames out of an exception, its causes, its context and its group, in place."""
    seen: set[int] = set()
    left = [error]
    while left:
        exception = left.pop()
        if exception is None or id(exception) in seen:
            continue
        seen.add(id(exception))
        put_traceback(exception, _cleaned(traceback_of(exception)))
        left += [cause_of(exception), context_of(exception)]
        if issubclass(type(exception), BaseExceptionGroup):
            left += inside_group(exception)


def user_frames_of(traceback: TracebackType | None) -> list[FrameType]:
    """The user's frames that an exception passed through, innermost first."""
    frames: list[FrameType] = []
    while traceback is not None:
        if classify(traceback.tb_frame.f_code.co_filename) == USER:
            frames.insert(0, traceback.tb_frame)
        traceback = traceback.tb_next
    return frames


def _cleaned(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if is_own(traceback.tb_frame):
            _drop_detour(kept)
        else:
            kept.append(traceback)
        traceback = traceback.tb_next
    for entry, following in zip(kept, [*kept[1:], None], strict=False):
        if entry.tb_next is not following:
            entry.tb_next = following
    return kept[0] if kept else None


def _drop_detour(kept: list[TracebackType]) -> None:
    """A torch function written in Python calls itself again for a mode: forget the first of the two calls."""
    if len(kept) > 1 and kept[-1].tb_frame.f_code.co_name == _DISPATCH:
        del kept[-2:]
