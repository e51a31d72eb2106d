"""nn.Transformer's inference fast path, which torch leaves as soon as a torch-function mode is on.

Its results differ in the last bits. So the mode steps aside for those modules wherever they may take it: nothing there
is recorded by autograd, and the call is one op.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from autograd_inspector.capture.module_tree import parameters_of
from autograd_inspector.capture.observers.calls.arguments import gather
from autograd_inspector.capture.observers.calls.opaque import Opaque
from autograd_inspector.capture.observers.calls.ops import Recorder
from autograd_inspector.capture.tensors.attributes import needs_grad
from autograd_inspector.capture.torch_private.resolving import read_own
from autograd_inspector.capture.undisturbed.guard import Guard

HAVE_ONE = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)


class FastPaths:
    """Watches for the modules that have a fast path."""

    def __init__(self, guard: Guard, recorder: Recorder) -> None:
        self._guard = guard
        self._recorder = recorder

    def call(self, module: nn.Module, *inputs: Any) -> Opaque | None:
        """A call of that module as one op where it may take the fast path; the caller begins and ends it."""
        if not issubclass(type(module), HAVE_ONE) or read_own(module, "training") is not False:
            return None
        if not self._guard.run(_records_nothing, module, inputs):
            return None
        return Opaque(self._recorder, type(module).__name__, module, (inputs, {}))


def _records_nothing(module: nn.Module, inputs: Any) -> bool:
    tensors: list[Tensor] = []
    gather(inputs, tensors)
    return not torch.is_grad_enabled() or not any(needs_grad(t) for t in (*tensors, *parameters_of(module)))
