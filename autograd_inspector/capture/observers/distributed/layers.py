"""What the layers of a model compute on this rank, at the first call of each: alike on all ranks, or a part of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.recording.recording import Recording
from autograd_inspector.capture.several_ranks import several_ranks
from autograd_inspector.capture.tensors.reading import fingerprint
from autograd_inspector.capture.torch_private.modules import own_children
from autograd_inspector.model.program_events import LayerComputed

_MOST = 1_024
"""Layers of a capture."""


class _Open(NamedTuple):
    module: nn.Module
    path: str
    site: int
    given: int


class Layers:
    """Notes the first call, with grad mode on, of each module that has no modules of its own."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._open: list[_Open] = []
        self._told = 0

    def entered(self, module: nn.Module, path: str, nth: int, values: tuple[Any, ...]) -> None:
        """A call begins."""
        if nth > 1 or self._told >= _MOST or own_children(module) or not (torch.is_grad_enabled() and several_ranks()):
            return
        given = _digest(values)
        if given is not None:
            self._open.append(_Open(module, path, self._recording.stacks.here(0), given))

    def came(self, module: nn.Module, result: Any) -> None:
        """A call has returned."""
        while self._open and self._open[-1].module is not module:
            if not any(call.module is module for call in self._open):
                return
            self._open.pop()  # It never came back.
        if not self._open:
            return
        call, recording, result_digest = self._open.pop(), self._recording, _digest((result,))
        if result_digest is not None:
            self._told += 1
            tensors = tuple(map(recording.id_of, parameters_of(module)))
            recording.events.append(
                LayerComputed(
                    len(recording.ops), call.site, type(module).__name__, call.path, tensors, call.given, result_digest
                )
            )


def _digest(values: tuple[Any, ...]) -> int | None:
    tensors: list[Tensor] = []
    gather(values, tensors)
    prints = [fingerprint(tensor) for tensor in tensors]
    return hash(tuple(prints)) if prints and None not in prints else None
