"""Activation checkpointing: what it keeps for backward, and that it is not to keep the random generators' state."""

from __future__ import annotations

from typing import Any

import torch.utils.checkpoint
from torch import Tensor

from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import device_of, dtype_of, shape_of, span_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import RandomStateDropped

_OPTION = "preserve_rng_state"


class Checkpoints:
    """In ``checkpoint()``: notes the tensors given to it, and once each line that drops the generators' state."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._sites: set[int] = set()

    def install(self, into: Installation) -> None:
        """Put the probe in place."""
        around(into, torch.utils.checkpoint, "checkpoint", self)

    def before(self, _seen: list[Any], /, *args: Any, **kwargs: Any) -> None:
        """A function is about to be run under it."""
        recording = self._recording
        if not (recording.here() and recording.active()):
            return
        if not recording.traits & Trait.BACKWARD and torch.is_grad_enabled():
            self._guard.run(self._keep, (*args[1:], *kwargs.values()))
        if kwargs.get(_OPTION) is False:
            self._guard.run(self._note)

    def after(self, _seen: list[Any], result: Any, /) -> Any:
        """It returned."""
        return result

    def failed(self, _seen: list[Any], _error: BaseException, /) -> None:
        """It raised."""

    def _keep(self, given: tuple[Any, ...]) -> None:
        recording = self._recording
        tensors: list[Tensor] = []
        gather(given, tensors)
        recording.checkpointed += [(len(recording.ops), self._kept(tensor)) for tensor in tensors]

    def _kept(self, tensor: Tensor) -> SavedTensor:
        number = self._recording.id_of(tensor)
        storage = self._recording.registry.storage_of(tensor)
        offset, extent, nbytes = span_of(tensor)
        shape, dtype, device = tuple(shape_of(tensor)), str(dtype_of(tensor)), str(device_of(tensor))
        return SavedTensor("", number, shape, dtype, device, nbytes, storage, offset, extent, "valid")

    def _note(self) -> None:
        recording = self._recording
        site = recording.stacks.here(0)
        if site not in self._sites:
            self._sites.add(site)
            recording.events.append(RandomStateDropped(len(recording.ops), site))
