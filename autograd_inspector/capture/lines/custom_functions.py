"""Where the methods of a custom autograd.Function are defined, and what is written above them."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.sources import definition_of
from autograd_inspector.capture.lines.stacks import SKIP, Stacks, classify

_ONCE = "once_differentiable"


def marked_at(stacks: Stacks, backward: Any) -> int:
    """The site of ``@once_differentiable`` above a backward; -1 where torch did not wrap it in that."""
    own = backward.__code__ if type(backward) is FunctionType else None
    code = code_of(backward)
    if own is None or code is None or not own.co_qualname.startswith(_ONCE) or classify(own.co_filename) != SKIP:
        return -1
    definition = definition_of(code)
    decorators = [] if definition is None else definition.decorator_list
    lines = [decorator.lineno for decorator in decorators if _name(decorator) == _ONCE]
    return stacks.of_code(code, lines[0] if lines else None)


def defined_at(stacks: Stacks, method: Any) -> int:
    """The site of a method's ``def``; -1 where it is no function of Python's."""
    code = code_of(method)
    if code is None:
        return -1
    definition = definition_of(code)
    return stacks.of_code(code, None if definition is None else definition.lineno)


def _name(decorator: ast.expr) -> str:
    return decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
