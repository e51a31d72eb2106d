"""Collectives: one op each, whatever torch.distributed does inside."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any, NamedTuple

import torch.distributed as dist
from torch import Tensor

from autograd_inspector.capture.observers.calls.ops import gather
from autograd_inspector.capture.recording.pauses import Pause
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import version_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import around
from autograd_inspector.model.op import Trait, Write

_NAMES = (
    "all_reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_object",
    "broadcast",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "gather",
    "scatter",
    "all_to_all",
    "all_to_all_single",
    "recv",
)


class Collectives:
    """A probe in each of them."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """Put the probes in place."""
        for name in _NAMES if dist.is_available() else ():
            if name in vars(dist):
                around(into, dist, name, _Collective(name, self._recording, self._guard))


class _OpenCollective(NamedTuple):
    """One that has begun, and what it was given."""

    frame: FrameType
    tensors: list[Tensor]
    versions: list[int]


class _Collective:
    def __init__(self, name: str, recording: Recording, guard: Guard) -> None:
        self._name = name
        self._recording = recording
        self._guard = guard

    def before(self, seen: list[_OpenCollective], /, *args: Any, **kwargs: Any) -> None:
        """It begins. torch.distributed hands some of them to the torch-function mode as well, and others on."""
        if self._recording.here() and self._recording.active():
            tensors: list[Tensor] = []
            versions = self._guard.run(_versions, (args, kwargs), tensors)
            seen += (_OpenCollective(sys._getframe(1), tensors, versions or []),)
            self._recording.pause(Pause(sys._getframe(1)))

    def after(self, seen: list[_OpenCollective], result: Any, /) -> Any:
        """It returned."""
        for call in seen:
            self._recording.go_on(call.frame)
            if call.versions:
                self._guard.run(self._communicated, call.tensors, call.versions)
        seen.clear()
        return result

    def failed(self, seen: list[_OpenCollective], _error: BaseException, /) -> None:
        """It raised."""
        for call in seen:
            self._recording.go_on(call.frame)

    def _communicated(self, inputs: list[Tensor], before: list[int]) -> None:
        """Everything but the local contribution is written, whether or not a counter moved."""
        recording = self._recording
        entries = [recording.registry.enter(t, -1, len(recording.ops)) for t in inputs]
        alive = any(e.requires_grad for e in entries)
        written = [
            e for e, t, b in zip(entries, inputs, before, strict=True) if version_of(t) != b or not e.requires_grad
        ]
        writes = tuple(Write(e.tensor, e.storage, -1, -1) for e in written)
        traits = int(Trait.COLLECTIVE) | (int(Trait.CUT) if alive else 0)
        recording.append(
            self._name,
            tuple(e.tensor for e in entries),
            tuple(e.tensor for e in written),
            writes,
            traits,
            recording.stacks.here(0),
            versions=tuple(before),
        )


def _versions(values: Any, into: list[Tensor]) -> list[int]:
    gather(values, into)
    return [version_of(tensor) for tensor in into]
