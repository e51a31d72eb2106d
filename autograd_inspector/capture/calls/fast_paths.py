"""nn.Transformer's inference fast path, which torch leaves as soon as a torch-function mode is on.

Its results differ in the last bits. So the mode steps aside for those modules wherever they may take it: nothing there
is recorded by autograd, and the call is one op.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules import module as hooks

from autograd_inspector.capture.calls.opaque import Opaque
from autograd_inspector.capture.calls.ops import Recorder, gather
from autograd_inspector.capture.guard import Guard

_HAVE_ONE = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)


class FastPaths:
    """Watches for the modules that have a fast path."""

    def __init__(self, guard: Guard, recorder: Recorder) -> None:
        self._guard = guard
        self._recorder = recorder
        self._open: list[tuple[nn.Module, Opaque]] = []

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Global hooks around every module call."""
        with ExitStack() as stack:
            stack.callback(hooks.register_module_forward_pre_hook(self._enter).remove)
            stack.callback(hooks.register_module_forward_hook(self._leave, always_call=True).remove)
            yield

    def _enter(self, module: nn.Module, args: Any) -> None:
        if not isinstance(module, _HAVE_ONE) or module.training or not self._guard.tape.here():
            return
        if self._guard(_records_nothing, module, args):
            region = Opaque(self._guard, self._recorder.away(), type(module).__name__, module, args)
            region.__enter__()
            self._open.append((module, region))

    def _leave(self, module: nn.Module, _args: Any, output: Any) -> None:
        if self._open and self._open[-1][0] is module and self._guard.tape.here():
            _, region = self._open.pop()
            region.done(output)
            region.__exit__()


def _records_nothing(module: nn.Module, args: Any) -> bool:
    given: list[Tensor] = []
    gather(args, given)
    return not torch.is_grad_enabled() or not any(t.requires_grad for t in (*given, *module.parameters()))
