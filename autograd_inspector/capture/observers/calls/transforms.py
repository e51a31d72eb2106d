"""Where tensors go into ``torch.vmap`` and ``torch.func`` and come out of them: wrapped ones stand for them inside.

Without these two ends what is computed inside would have nothing to do with what is computed outside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.calls import TRANSFORM_BORDERS
from autograd_inspector.capture.torch_private.graph import sequence_number
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around


class Transforms:
    """At the functions by which functorch wraps tensors and unwraps them."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        for transform, places in TRANSFORM_BORDERS.items():
            for place in places:
                owner = place.owner()
                if owner is not None:
                    around(into, owner, place.name, Crossing(self._recording, self._guard, transform))


class Crossing:
    """One way into a transform, or out of it."""

    def __init__(self, recording: Recording, guard: Guard, transform: str) -> None:
        self._recording = recording
        self._guard = guard
        self._transform = transform

    def before(self, seen: list[Any], value: Any, /, *_args: Any, **_kwargs: Any) -> None:
        """A tensor is about to be wrapped or unwrapped."""
        if self._recording.here() and self._recording.active() and isinstance(value, Tensor):
            seen += (value, sequence_number())

    def after(self, seen: list[Any], result: Any, /) -> Any:
        """It was."""
        if seen:
            value, first = seen
            seen[:] = ()  # Nothing of the program's is kept where an interrupt strikes.
            self._guard.run(self._note, value, result, first)
        return result

    def failed(self, seen: list[Any], _error: BaseException, /) -> None:
        """It was not."""
        seen[:] = ()

    def _note(self, value: Tensor, result: Any, first: int) -> None:
        recording = self._recording
        if result is value or not isinstance(result, Tensor):
            return
        number, index = recording.id_of(value), len(recording.ops)
        entry = recording.registry.enter(result, index, index)
        entry.requires_grad = needs_grad(result)
        recording.append(
            self._transform,
            (number,),
            (entry.tensor,),
            site=recording.stacks.here(),
            sequence=(first, sequence_number()),
        )


def crossed(recording: Recording, guard: Guard, transform: str, call: Callable[[], Any], value: Any) -> Any:
    """What a call returns by which a tensor goes into a transform, or out of it."""
    crossing, seen = Crossing(recording, guard, transform), list[Any]()
    crossing.before(seen, value)
    return crossing.after(seen, call())
