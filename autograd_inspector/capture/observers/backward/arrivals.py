"""Which leaves a run of the engine gave a gradient, seen by looking at their ``.grad`` before and afterwards."""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from torch import Tensor

from autograd_inspector.capture.tensors.attributes import gradient_of, is_leaf, needs_grad, version_of

_Seen = tuple[weakref.ref[Tensor] | None, int]
"""(the gradient, its version); nothing is kept alive."""


class Arrivals:
    """Looked at once before the run. AccumulateGrad sets ``.grad`` anew, or adds to it in place."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._before: list[tuple[weakref.ref[Tensor], _Seen]] = [
            (weakref.ref(tensor), _seen(tensor)) for tensor in tensors if needs_grad(tensor) and is_leaf(tensor)
        ]

    def after(self) -> tuple[list[Tensor], list[Tensor]]:
        """Of those that still live: the leaves that got a gradient, and the others."""
        got: list[Tensor] = []
        rest: list[Tensor] = []
        for leaf, (gradient, version) in self._before:
            tensor = leaf()
            if tensor is not None:
                now, before = gradient_of(tensor), None if gradient is None else gradient()
                arrived = now is not None and (version_of(now) != version or now is not before)
                (got if arrived else rest).append(tensor)
        return got, rest


def _seen(tensor: Tensor) -> _Seen:
    gradient = gradient_of(tensor)
    return (None, -1) if gradient is None else (weakref.ref(gradient), version_of(gradient))
