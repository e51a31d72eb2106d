"""The loss scale of a GradScaler over its updates."""

from __future__ import annotations

import torch
from torch import Tensor

from autograd_inspector.capture.tensors.reading import plain
from autograd_inspector.capture.torch_private.dispatch import straight_to_kernels
from autograd_inspector.capture.vitals.kept_steps import KeptSteps
from autograd_inspector.capture.vitals.transfer import Reading, brought

_KEPT = 128
_WAITING = 32


class Scales:
    """The scale after each update that is kept, and how many updates lowered it."""

    def __init__(self) -> None:
        self.kept = KeptSteps(_KEPT)
        self.values: list[float] = []
        self.skipped = 0
        self._last = 0.0
        self._waiting: list[Tensor] = []

    def updated(self, scale: Tensor) -> None:
        """That is the scale from now on."""
        values = plain(scale)
        if values is not None:
            self._waiting.append(straight_to_kernels(torch.clone, values))
        if len(self._waiting) >= _WAITING:
            self.bring()

    def bring(self) -> None:
        """Take over what is still on its device."""
        waiting, self._waiting = self._waiting, []
        brought([Reading((scale,), self._told) for scale in waiting])

    def _told(self, numbers: list[float]) -> None:
        [scale] = numbers
        self.skipped += scale < self._last
        self._last = scale
        self.values.append(scale)
        place = self.kept.add(self.kept.seen + 1)
        if place >= 0:
            del self.values[place]
