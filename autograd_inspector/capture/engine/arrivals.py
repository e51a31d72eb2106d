"""Which leaves a run of the engine gave a gradient, seen by looking at their ``.grad`` before and afterwards."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from torch import Tensor

from autograd_inspector.capture.engine.history import is_leaf
from autograd_inspector.capture.registry import version_of

_Seen = tuple[weakref.ref[Tensor] | None, int]
"""(the gradient, its version); nothing is kept alive."""


class Arrivals:
    """Looked at once before the run. AccumulateGrad sets ``.grad`` anew, or adds to it in place."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._before: list[tuple[weakref.ref[Tensor], _Seen]] = [
            (weakref.ref(tensor), _seen(tensor)) for tensor in tensors if tensor.requires_grad and is_leaf(tensor)
        ]

    def after(self) -> tuple[list[Tensor], list[Tensor]]:
        """Of those that still live: the leaves that got a gradient, and the others."""
        got: list[Tensor] = []
        rest: list[Tensor] = []
        for leaf, (gradient, version) in self._before:
            tensor = leaf()
            if tensor is not None:
                now, before = tensor.grad, None if gradient is None else gradient()
                arrived = now is not None and (now is not before or version_of(now) != version)
                (got if arrived else rest).append(tensor)
        return got, rest


def _seen(tensor: Tensor) -> _Seen:
    gradient = tensor.grad
    return (None, -1) if gradient is None else (weakref.ref(gradient), version_of(gradient))
