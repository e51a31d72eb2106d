"""torch's stack of function modes as the program sees it: without ours."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import Any

from torch.overrides import TorchFunctionMode

from autograd_inspector.capture.torch_private.modes import (
    DEVICE_ENTERED,
    DEVICE_LEFT,
    SEEN_AT,
    SEEN_DEPTH,
    function_modes,
    mode_at,
    mode_depth,
)
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.mode_stack import HiddenMode, arrange, put_on, take_off


class SeenModes:
    """Answers what torch's Python code asks about the stack, and lets modes be left as if ours were not on it.

    Not in ``torch._C``: dynamo takes these functions from there for good when it is imported, which may be during a
    capture. Who calls them there finds ours, at the bottom.
    """

    def install(self, into: Installation) -> None:
        """Stand in for the functions where torch looks them up."""
        places = [(place, place.owner(), stand_in) for place, stand_in in ((SEEN_DEPTH, _length), (SEEN_AT, _at))]
        if all(owner is not None for _, owner, _ in places):  # Without one the other is how we look ourselves.
            for place, owner, stand_in in places:
                into.replace(owner, place.name, stand_in)
        into.replace(TorchFunctionMode, "__exit__", _leaving(TorchFunctionMode.__exit__))
        for place in (DEVICE_ENTERED, DEVICE_LEFT):
            owner = place.owner()
            if owner is not None:
                into.replace(owner, place.name, _apart(vars(owner)[place.name]))


def _seen() -> list[Any]:
    return [mode for mode in function_modes() if not isinstance(mode, HiddenMode)]


def _length() -> int:
    return len(_seen())


def _at(place: int) -> Any:
    seen = _seen()
    return seen[place] if 0 <= place < len(seen) else mode_at(mode_depth())


def _apart(original: Callable[..., None]) -> Callable[..., None]:
    """A function of torch's that takes the whole stack apart, and expects a certain mode, or none, at its bottom."""

    @functools.wraps(original)
    def rearrange(*arguments: Any) -> None:
        ours = [mode for mode in function_modes() if isinstance(mode, HiddenMode)]
        try:
            for mode in ours:
                take_off(mode)
            original(*arguments)
        finally:
            for mode in ours:
                put_on(mode)

    return rearrange


def _leaving(original: Callable[..., None]) -> Callable[..., None]:
    """``TorchFunctionMode.__exit__``, which takes the topmost mode away; it raises where there is none."""

    @functools.wraps(original)
    def leave(mode: Any, *error: Any) -> None:
        left: list[object] = []
        try:
            _leave(left)
        except BaseException:
            if not left:
                _leave(left)  # An interrupt must not keep the program from leaving its mode.
            raise
        if left:
            return
        ours = function_modes()
        try:
            arrange(ours, [])
            original(mode, *error)  # There is none: torch says so.
        finally:
            arrange(function_modes(), ours)

    return leave


def _leave(left: list[object]) -> None:
    """Take the program's topmost mode away if there is one; ``left`` is filled in the same moment."""
    stack = function_modes()
    theirs = [place for place, mode in enumerate(stack) if not isinstance(mode, HiddenMode)]
    if theirs:
        arrange(stack, [*stack[: theirs[-1]], *stack[theirs[-1] + 1 :]], partial(left.append, stack[theirs[-1]]))
