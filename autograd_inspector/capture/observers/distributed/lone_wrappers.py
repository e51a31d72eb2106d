"""DistributedDataParallel over this rank alone: it exchanges nothing, and still waits for each of its parameters."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch

from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.distributed import reduced_parameters
from autograd_inspector.model.program_events import ReductionUnfinished


@dataclass
class _Lone:
    """One that was met; ``last``: (op index, site) of the call before."""

    ref: weakref.ref[Any]
    made: int
    tensors: tuple[int, ...]
    last: tuple[int, int] | None = None


class LoneWrappers:
    """Keeps for a call of one what is to be told if that raises because the call before was not reduced."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._met: dict[int, _Lone] = {}
        """By Python's id."""

    def meet(self, model: Any, site: int) -> _Lone:
        """One was made there, or is called and was made before; then ``site`` is -1."""
        known = self._met.get(id(model))
        if known is None or known.ref() is not model:
            tensors = tuple(self._recording.id_of(p) for p in reduced_parameters(model) if needs_grad(p))
            known = self._met[id(model)] = _Lone(weakref.ref(model), site, tensors)
        return known

    def called(self, model: Any) -> None:
        """Its forward begins."""
        recording, own = self._recording, vars(model)
        if "reducer" not in own or not torch.is_grad_enabled() or own.get("require_backward_grad_sync") is False:
            return
        if own.get("find_unused_parameters") or own.get("static_graph"):
            return
        met = self.meet(model, -1)
        recording.unfinished = (
            None if met.last is None else ReductionUnfinished(*met.last, type(model).__name__, met.tensors, met.made)
        )
        met.last = len(recording.ops), recording.stacks.here(0)
