"""What tells two ranks' data and weights apart: sums over their bits, read only where values may be read."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import Tensor, nn

from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.torch_private.distributed import local_of
from autograd_inspector.model.program_events import DataMet, WeightsMet

_MOST = 64
"""Batches that are looked at."""


class Fingerprints:
    """Notes what a model is given when it is called to learn, and its weights at the first such call."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._met: set[int] = set()
        self._batches = 0

    def given(self, root: int, model: nn.Module, values: tuple[Any, ...]) -> None:
        """The outermost call of a model begins."""
        recording = self._recording
        if recording.values is None or not _several_ranks() or not torch.is_grad_enabled():
            return
        site = recording.stacks.here(0)
        tensors: list[Tensor] = []
        gather(values, tensors)
        prints = [fingerprint(tensor) for tensor in tensors]
        if prints and None not in prints and self._batches < _MOST:
            self._batches += 1
            recording.events.append(DataMet(len(recording.ops), site, type(model).__name__, hash(tuple(prints))))
        if root in self._met:
            return
        self._met.add(root)
        held = [(recording.id_of(p), fingerprint(p)) for p in parameters_of(model) if local_of(p) is None]
        known = [(number, value) for number, value in held if value is not None]
        if known:
            numbers, weights = zip(*known, strict=True)
            recording.events.append(WeightsMet(len(recording.ops), site, type(model).__name__, numbers, weights))


def _several_ranks() -> bool:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return False
    return bool(distributed.get_world_size() > 1)
