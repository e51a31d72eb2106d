"""Another text of a file whose functions are there already: they get their new code, as they are."""

from __future__ import annotations

import gc
import inspect
import linecache
from types import CodeType, FunctionType


def put_in(filename: str, before: str, after: str) -> bool:
    """Give the functions of a file the code that they have in another text of it.

    False, and nothing is changed, where the text of the module or of a class differs outside of its functions: that has
    run, and only running it again would show the change. Raises SyntaxError for a text that is no program.
    """
    pairs = _pairs(*(compile(text, filename, "exec", dont_inherit=True) for text in (before, after)))
    if pairs is None:
        return False
    for function in [each for each in gc.get_objects() if isinstance(each, FunctionType)]:
        new = pairs.get(function.__code__) if function.__code__.co_filename == filename else None
        if new is not None and len(new.co_freevars) == len(function.__code__.co_freevars):
            function.__code__ = new
    linecache.cache[filename] = len(after), None, after.splitlines(keepends=True), filename
    return True


def _pairs(old: CodeType, new: CodeType) -> dict[CodeType, CodeType] | None:
    """The code of each function -> its new one; None where what runs outside of the functions differs."""
    if not _is_function(old) and _outline(old) != _outline(new):
        return None
    inner, renewed = _inner(old), _inner(new)
    if len(inner) != len(renewed):
        return {} if _is_function(old) else None
    found: dict[CodeType, CodeType] = {}
    for one, other in zip(inner, renewed, strict=True):
        below = _pairs(one, other)
        if below is None:
            return None
        found |= below
        if _is_function(one):
            found[one] = other
    return found


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _outline(code: CodeType) -> tuple[object, ...]:
    """What a module or a class body does itself: line numbers, and the code of its functions, are left out."""
    constants = tuple(repr(constant) for constant in code.co_consts if not isinstance(constant, (CodeType, int)))
    return code.co_code, code.co_names, constants, len(_inner(code))
