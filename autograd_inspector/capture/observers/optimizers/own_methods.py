"""The methods that the user wrote of an optimizer's class."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

from autograd_inspector.capture.lines.stacks import USER, classify


def codes_of(kind: type) -> tuple[CodeType, ...]:
    """Their code, each with the functions that it defines."""
    methods = (inspect.unwrap(m) for base in kind.__mro__ for m in vars(base).values() if isinstance(m, FunctionType))
    own = (m.__code__ for m in methods if classify(m.__code__.co_filename) == USER)
    return tuple(code for method in own for code in _with_inner(method))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
