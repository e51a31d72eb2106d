"""Where the program, or a parallel layer, takes this rank's summand of a DTensor that stands for a sum."""

from __future__ import annotations

import sys
from typing import Any

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed
from autograd_inspector.model.op import Trait
from autograd_inspector.model.program_events import SummandTaken

_TENSOR = "torch.distributed.tensor"
_MOST = 256
"""Calls of a capture."""


class PartialSums:
    """A probe in ``to_local()``, once the program has loaded DTensor."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard
        self._told = 0

    def install(self, into: Installation) -> None:
        """Put it in place."""
        into.when_loaded(_TENSOR, lambda: self._guard.run(self._observe, into))

    def _observe(self, into: Installation) -> None:
        observed(into, sys.modules[_TENSOR].DTensor, "to_local", before=self._taken, guard=self._guard)

    def _taken(self, spread: Any, _args: Any, _kwargs: Any) -> None:
        recording = self._recording
        if self._told >= _MOST or not recording.active() or recording.traits & int(Trait.BACKWARD):
            return
        sizes = spread.device_mesh.mesh.shape
        if any(p.is_partial() and size > 1 for p, size in zip(spread.placements, sizes, strict=False)):
            self._told += 1
            recording.events.append(SummandTaken(len(recording.ops), recording.stacks.here(0)))
