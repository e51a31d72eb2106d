"""Anomaly mode quotes the stack of the forward, and would quote our frames on it: it gets the program's alone.

While the mode is on, torch asks a Python function of its own for the stack whenever it makes an autograd node, and
keeps the text with the node. An error or a warning of the engine has it, whenever that comes: in the block or later.
"""

from __future__ import annotations

import sys
from traceback import StackSummary, format_list
from types import FrameType
from typing import Any

from autograd_inspector.capture.lines.frames import outwards
from autograd_inspector.capture.lines.program_frames import program_frames
from autograd_inspector.capture.torch_private.graph import FORMAT_STACK, stack_is_given
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.interrupts import is_interrupt
from autograd_inspector.own_files import is_own


class AnomalyStacks:
    """A probe in the function that gives torch the text of the stack."""

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        owner = FORMAT_STACK.owner()
        if owner is not None:
            around(into, owner, FORMAT_STACK.name, self)

    def before(self, seen: list[Any], /, *_args: Any, **_kwargs: Any) -> None:
        """The text is about to be made."""

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was made: of the frames that run, or of what a program that transforms its graphs had noted."""
        try:
            return result if stack_is_given() else _of_the_program(sys._getframe(1), result)
        except Exception as failure:  # The text is the program's, and has too much in it.
            if is_interrupt(failure):
                raise
            return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """It was not made."""


def _of_the_program(innermost: FrameType, text: Any) -> Any:
    """The text for the callers of a frame, as ``traceback.extract_stack`` and ``format_list`` make it of all."""
    frames = list(outwards(innermost))
    if not any(map(is_own, frames)):
        return text
    # The innermost is extracted too, and left out only then: Python may have been told to extract no more than a few.
    shown = [innermost, *program_frames(frames[1:])]
    summary = StackSummary.extract((frame, frame.f_lineno) for frame in shown)
    return format_list(summary[::-1][:-1])
