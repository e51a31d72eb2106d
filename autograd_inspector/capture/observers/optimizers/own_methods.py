"""The methods that the user wrote of an optimizer's class."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType

from autograd_inspector.capture.lines.attributes import members_of, order_of
from autograd_inspector.capture.lines.callables import code_of
from autograd_inspector.capture.lines.stacks import USER, classify


def codes_of(kind: type) -> tuple[CodeType, ...]:
    """Their code, each with the functions that it defines."""
    held = (method for base in order_of(kind) for method in list(members_of(base).values()))
    methods = (code_of(method) for method in held if type(method) is FunctionType)
    user_codes = (code for code in methods if code is not None and classify(code.co_filename) == USER)
    return tuple(code for method in user_codes for code in _with_inner(method))


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)
