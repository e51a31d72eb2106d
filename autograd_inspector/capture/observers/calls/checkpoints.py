"""Activation checkpointing: what it keeps for backward, what makes its contexts, and whether it keeps random states."""

from __future__ import annotations

from types import CodeType
from typing import Any

import torch.utils.checkpoint
from torch import Tensor

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.custom_functions import defined_at
from autograd_inspector.capture.lines.stacks import SKIP, classify
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import device_of, dtype_of, shape_of, span_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.autograd import SavedTensor
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import ContextsGiven, RandomStateDropped

_OPTION = "preserve_rng_state"
_CONTEXTS = "context_fn"


class Checkpoints:
    """In ``checkpoint()``: notes the tensors given to it, what makes contexts, and what drops the generators' state."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._sites: set[int] = set()
        self._makers: set[CodeType] = set()

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
        if _CONTEXTS in kwargs:
            self._guard.run(self._made_by, kwargs[_CONTEXTS])

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

    def _made_by(self, contexts: Any) -> None:
        code = code_of(contexts)
        if code is not None and code not in self._makers and classify(code.co_filename) != SKIP:
            self._makers.add(code)
            recording = self._recording
            recording.events.append(ContextsGiven(len(recording.ops), defined_at(recording.stacks, contexts)))
