"""The loss scale: a GradScaler's, after each of its updates."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.amp import GradScaler

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.torch_private.vitals import scale_of
from autograd_inspector.capture.undisturbed.guard import Guard
from autograd_inspector.capture.undisturbed.installing import Installation
from autograd_inspector.capture.undisturbed.patches import observed


class Scaling:
    """Tells the vitals of it, where they are collected."""

    def __init__(self, recording: Recording, guard: Guard) -> None:
        self._recording = recording
        self._guard = guard

    def install(self, into: Installation) -> None:
        """A probe in ``update``, which raises or lowers the scale."""
        if self._recording.vitals is not None:
            observed(into, GradScaler, "update", after=self._updated, guard=self._guard)

    def _updated(self, scaler: GradScaler, _args: Any, _kwargs: Any, _before: Any) -> None:
        vitals = self._recording.vitals
        scale = scale_of(scaler) if vitals is not None and scaler.is_enabled() else None
        if vitals is not None and isinstance(scale, Tensor):
            vitals.scaled(scale)
