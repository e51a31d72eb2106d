"""What torch refuses to a tensor leaves nothing but an exception: it is recorded as an op that failed."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograd_inspector.capture.observers.calls.calling import Calling
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import version_of
from autograd_inspector.messages import text_of


def called(recorder: Calling, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make the call; of one that raises keep what it was asked of, which the exception does not tell."""
    try:
        return recorder.call(func, args, kwargs)
    except Exception as error:
        recorder.guard.run(_refused, recorder.recording, func, args, error)
        raise


def _refused(recording: Recording, func: Any, args: tuple[Any, ...], error: Exception) -> None:
    tensor = args[0] if args else None
    if isinstance(tensor, Tensor):
        name = str(getattr(func, "__name__", ""))
        if name == "__set__":  # Of an attribute.
            name = str(getattr(getattr(func, "__self__", None), "__name__", name))
        recording.append(name, (recording.id_of(tensor),), error=text_of(error), versions=(version_of(tensor),))
