"""What torch.func.grad differentiates a function by, and results that do not depend on it: the gradients are zeros."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad_here
from autograd_inspector.capture.torch_private.calls import FUNCTION_GRADIENT, is_functorch_wrapped, unwrapped_once
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.program_events import FunctionDifferentiated, IndependentResult


class FunctionGradients:
    """In the one function by which torch.func differentiates."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        owner = FUNCTION_GRADIENT.owner()
        if owner is not None:
            around(into, owner, FUNCTION_GRADIENT.name, self)

    def before(self, _seen: list[Any], outputs: Any, inputs: Any, /, *_args: Any, **_kwargs: Any) -> None:
        """A function has returned, and is to be differentiated."""
        if self._recording.here() and self._recording.active():
            self._guard.run(self._note, outputs, inputs)

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It was."""
        return result

    def failed(self, _seen: list[Any], _error: BaseException, /) -> None:
        """It was not."""

    def _note(self, outputs: tuple[Any, ...], inputs: tuple[Any, ...]) -> None:
        recording = self._recording
        beneath = [_beneath(tensor) for tensor in inputs if isinstance(tensor, Tensor)]
        if all(recording.registry.entry_of(tensor) is not None for tensor in beneath):
            outer = tuple(map(recording.id_of, beneath))
            recording.events.append(FunctionDifferentiated(len(recording.ops), recording.stacks.here(0), outer))
        if any(needs_grad_here(output) for output in outputs if isinstance(output, Tensor)):
            return
        given, returned = (
            tuple(recording.id_of(tensor) for tensor in tensors if isinstance(tensor, Tensor))
            for tensors in (inputs, outputs)
        )
        recording.events.append(IndependentResult(len(recording.ops), recording.stacks.here(0), given, returned))


def _beneath(tensor: Tensor) -> Tensor:
    """What was given to the outermost transform, for which the tensor stands inside."""
    while is_functorch_wrapped(tensor):
        inner = unwrapped_once(tensor)
        if inner is tensor:
            break
        tensor = inner
    return tensor
