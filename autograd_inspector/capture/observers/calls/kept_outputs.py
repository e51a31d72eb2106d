"""Whether a custom Function keeps what it returns on its own node, which the result holds: each holds the other."""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import BackwardCFunction

from autograd_inspector.capture.lines.bytecode import attribute_lines
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.observers.calls.arguments import gather


def kept_outputs(node: Any, outputs: Sequence[Tensor]) -> list[str]:
    """The attributes of the ``ctx`` that are, or contain, what the Function returned."""
    if not isinstance(node, BackwardCFunction):
        return []
    names = []
    for name, value in vars(node).items():
        held: list[Tensor] = []
        gather((value,), held)
        if any(tensor is output for tensor in held for output in outputs):
            names.append(name)
    return names


def set_at(function: type[Function], name: str) -> tuple[CodeType, int] | None:
    """(code, line) where the forward of a Function sets that attribute of its ``ctx``, the last such line."""
    for method in ("setup_context", "forward"):
        code = code_of(getattr(function, method, None))
        lines = [] if code is None else list(attribute_lines(code, name))
        if code is not None and lines:
            return code, lines[-1]
    return None
