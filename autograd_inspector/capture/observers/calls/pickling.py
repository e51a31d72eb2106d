"""Tensors that are pickled and come back: ``torch.save``, ``torch.load``, ``pickle``.

No torch function is called for a plain tensor. But torch's own reducer reads the tensor's ``_backward_hooks``, to warn
that they are not saved, and its rebuilder sets them (torch/_tensor.py, torch/_utils.py): that is what is seen.
"""

from __future__ import annotations

import sys
from typing import Any

from torch import Tensor

from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.observers.calls.calling import Calling
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.told import REBUILDER, REDUCER

_NEAR = 6
"""So many frames up torch's own function is found at the latest, the recorder's among them."""


def read_hooks(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``tensor._backward_hooks`` was read."""
    result = recorder.call(func, args, kwargs)
    recorder.guard.run(_read, recorder.recording, args[0])
    return result


def set_hooks(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``tensor._backward_hooks`` was set."""
    result = recorder.call(func, args, kwargs)
    recorder.guard.run(_set, recorder.recording, args[0])
    return result


def _read(recording: Recording, tensor: Tensor) -> None:
    if _within(REDUCER):
        recording.exports.pickled(recording, tensor)


def _set(recording: Recording, tensor: Tensor) -> None:
    if _within(REBUILDER):
        recording.exports.unpickled(recording, tensor)


def _within(function: str) -> bool:
    frame = sys._getframe(2)
    for _ in range(_NEAR):
        if frame.f_back is None:
            return False
        frame = frame.f_back
        if frame.f_code.co_name == function:
            return classify(frame.f_code.co_filename) == SKIP
    return False
