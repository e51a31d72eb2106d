"""Compiled calls of which Dynamo compiles nothing: it leaves all code of torch's own modules to Python.

``torch.compile(module)`` is told apart by torch, and compiles such a module; ``module.compile()`` does not.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from torch import nn

from autograd_inspector.capture.lines.attributes import entries_of
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.torch_private.modules import own_children
from autograd_inspector.capture.torch_private.passed_over import may_have_hooks, passes_over


def left_to_python(what: Any) -> nn.Module | None:
    """The module whose call runs as it would without ``module.compile()``; None where anything is compiled."""
    owner = what.__self__ if type(what) is MethodType else None
    if not isinstance(owner, nn.Module) or not passes_over(what.__func__.__code__):
        return None
    todo, seen = [owner], set[int]()
    while todo:
        module = todo.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        code = code_of(type(module).forward)
        if code is None or "forward" in vars(module) or not passes_over(code) or may_have_hooks(module):
            return None
        todo += [child for _, child in entries_of(own_children(module)) if child is not None]
    return owner


def note_of(module: nn.Module) -> str:
    """What a user is told of it."""
    kind = type(module).__name__
    return (
        f"`{kind}.compile()` compiles nothing: Dynamo leaves the code of torch's own modules to Python, and this "
        f"{kind} has no others. So it ran uncompiled. torch.compile(module) does compile it."
    )
