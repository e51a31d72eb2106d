"""The recorder's place on torch's stack of function modes: beneath the program's own, which do not notice it there.

A mode is left by taking the topmost one away, whichever that is. So ours lies at the bottom: the program's modes,
entered before the block or inside it, are above ours, get each call from the program's own frame, and are left in the
order in which they would be. A default device, which torch wants at the very bottom, is entered and left without ours.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections import deque
from collections.abc import Callable
from functools import partial
from operator import call
from types import GeneratorType
from typing import Any

from torch.overrides import TorchFunctionMode

from autograd_inspector.capture.lines.frame_locals import locals_of
from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.torch_private.modes import (
    DEVICE_ENTERED,
    DEVICE_LEFT,
    function_modes,
    is_default_device,
    pop_mode,
    push_mode,
)
from autograd_inspector.raised import traceback_of


class HiddenMode(TorchFunctionMode):
    """A mode that the program does not see among its own."""

    closed = False
    """It records nothing any more."""


def put_on(mode: TorchFunctionMode) -> None:
    """Put a mode beneath all others; one that is there stays where it is."""
    stack = function_modes()
    if not any(each is mode for each in stack):
        bottom = int(bool(stack) and is_default_device(stack[0]) and not _apart_from_devices())
        arrange(stack, [*stack[:bottom], mode, *stack[bottom:]])


def _apart_from_devices() -> bool:
    """Whether torch enters and leaves default devices without ours: else it wants theirs at the very bottom."""
    return all(place.owner() is not None for place in (DEVICE_ENTERED, DEVICE_LEFT))


def take_off(mode: TorchFunctionMode) -> bool:
    """Take a mode, and nothing else, off this thread's stack. Returns whether it was there."""
    stack = function_modes()
    others = [each for each in stack if each is not mode]
    if len(others) < len(stack):
        arrange(stack, others)
    return len(others) < len(stack)


def take_off_closed() -> None:
    """Take off what captures have left on this thread's stack that were closed from another thread."""
    for mode in function_modes():
        if isinstance(mode, HiddenMode) and mode.closed:
            take_off(mode)


def put_back(error: BaseException | None) -> None:
    """Let torch put ours back that it took off for the length of a call, where an interrupt keeps it from doing so.

    ``handle_torch_function`` uses a context manager. One that is interrupted on its way in or out stays as it is for as
    long as the traceback lives, and would put the mode on the stack after all else is over, or for a second time.
    """
    traceback = traceback_of(error) if error is not None else None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == contextlib.__file__:
            for _, value in locals_of(traceback.tb_frame):
                suspended = getattr(value, "gen", None)
                if isinstance(suspended, GeneratorType) and _holds_ours(suspended):
                    suspended.close()
        traceback = traceback.tb_next


def put_back_now(mode: object) -> None:
    """Let torch put a mode of ours back at once that it took off for a call which still runs in this thread.

    A hook may end the capture inside backward. When that is over, nobody is there any more to take the mode off.
    """
    handler = type(mode).__torch_function__.__code__ if isinstance(mode, HiddenMode) else None
    if any(frame.f_code is handler for frame in outwards(sys._getframe())):
        for suspended in gc.get_referrers(mode):
            if isinstance(suspended, GeneratorType) and _holds_ours(suspended):
                suspended.close()


def _holds_ours(suspended: GeneratorType[Any, Any, Any]) -> bool:
    frame = suspended.gi_frame
    return frame is not None and any(isinstance(value, HiddenMode) for _, value in locals_of(frame))


def arrange(stack: list[Any], wanted: list[Any], *then: Callable[[], Any]) -> None:
    """Turn one stack into another in a single call of C code, which no signal handler can interrupt half-way."""
    same = 0
    while same < min(len(stack), len(wanted)) and stack[same] is wanted[same]:
        same += 1
    steps: list[Callable[[], Any]] = [pop_mode] * (len(stack) - same)
    steps += [partial(push_mode, mode) for mode in wanted[same:]]
    deque(map(_call, [*steps, *then]), maxlen=0)


_call: Callable[[Callable[[], Any]], Any] = call
