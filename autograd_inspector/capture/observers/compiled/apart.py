"""A graph that is run again is none of the program's own: its modes and hooks are not to meet what runs there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import call
from typing import Any

from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.torch_private.graph import (
    SAVED_HOOKS_MOVE,
    pop_saved_hooks,
    push_saved_hooks,
    top_saved_hooks,
)
from autograd_inspector.capture.torch_private.modes import function_modes, without_dispatch_modes
from autograd_inspector.capture.undisturbed.mode_stack import arrange

_call: Callable[[Callable[[], Any]], Any] = call


@contextmanager
def apart(recorder: Recorder) -> Iterator[None]:
    """Nobody but the recorder sees the calls of torch that are made meanwhile, nor what they save for backward."""
    modes, taken = function_modes(), list[Any]()
    try:
        arrange(modes, [recorder])
        while (pair := top_saved_hooks(True)) is not None and SAVED_HOOKS_MOVE:  # noqa: FBT003 - torch's own order
            # In one call of C code, which no signal handler interrupts between the two.
            taken.extend(map(_call, (lambda pair=pair: pair, pop_saved_hooks)))
        with without_dispatch_modes():
            yield
    finally:
        hooks = [each for each in reversed(taken) if each is not None]
        steps: list[Callable[[], Any]] = [*(partial(push_saved_hooks, *pair) for pair in hooks), taken.clear]
        arrange(function_modes(), modes, *steps)
