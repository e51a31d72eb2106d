"""The methods that the user wrote of an optimizer's class."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType

from autograd_inspector.capture.lines.inheritance import code_of
from autograd_inspector.capture.lines.stacks import USER, classify


def codes_of(kind: type) -> tuple[CodeType, ...]:
    """Their code, each with the functions that it defines."""
    methods = (code_of(m) for base in kind.__mro__ for m in vars(base).values() if isinstance(m, FunctionType))
    own = (code for code in methods if code is not None and classify(code.co_filename) == USER)
    return tuple(code for method in own for code in _with_inner(method))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
