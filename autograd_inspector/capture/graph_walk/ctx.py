"""Tensors that a custom Function keeps as plain attributes of its ``ctx``, where autograd checks no version."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.torch_private.graph import function_of

PREFIX = "ctx."


def ctx_tensors(node: Any) -> list[tuple[str, Tensor]]:
    """(``ctx.name``, tensor) of the attributes that the Function's backward mentions."""
    if not isinstance(node, BackwardCFunction):
        return []
    held = [(name, value) for name, value in vars(node).items() if isinstance(value, Tensor)]
    if not held:
        return []
    backward = getattr(function_of(type(node)), "backward", None)
    code = code_of(backward)
    mentioned = code.co_names if code is not None else ()
    return [(PREFIX + name, value) for name, value in held if name in mentioned]
