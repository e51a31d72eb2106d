"""What the backward of a custom autograd.Function returned: for which inputs that need a gradient it gave None."""

from __future__ import annotations

from typing import Any

from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.event import NoneGradient


class CustomBackward:
    """Observes, for one capture, the call through which the engine runs a Function's backward."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self.recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        around(into, BackwardCFunction, "apply", self)

    def before(self, seen: list[Any], node: Any, /, *_gradients: Any) -> None:
        """The engine calls the node of a Function."""
        seen += (node,)

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """Its backward returned."""
        if self.recording.here():
            self._guard.run(self._returned, seen[0], result)
        return result

    def failed(self, seen: list[Any], error: BaseException, /) -> None:
        """Its backward raised: nothing came back."""

    def _returned(self, node: Any, result: Any) -> None:
        gradients = result if isinstance(result, (tuple, list)) else (result,)
        needed = node.needs_input_grad
        wanted = [gradient for gradient, need in zip(gradients, needed, strict=False) if need]
        missing = tuple(number for number, gradient in enumerate(wanted) if gradient is None)
        if missing:
            gap = NoneGradient(node._sequence_nr(), missing)
            self.recording.none_gradients.pop(gap, None)
            self.recording.none_gradients[gap] = None
