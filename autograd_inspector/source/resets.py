"""Which variables a loop makes anew, empties or shortens."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_SHRINKING = {"clear", "pop", "popleft", "popitem", "remove"}


class Resets:
    """Those of each loop of a file, the loops within it included."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._found: dict[ast.AST, set[str]] = {}

    def within(self, loop: ast.AST) -> set[str]:
        """The variables of one loop."""
        found = self._found.get(loop)
        if found is None:
            found = self._found[loop] = {_reset(node) for node in ast.walk(loop)} - {""}
        return found


def _reset(node: ast.AST) -> str:
    match node:
        case ast.Name(id=found, ctx=ast.Store() | ast.Del()):
            return found
        case ast.Call(func=ast.Attribute(value=ast.Name(id=found), attr=how)) if how in _SHRINKING:
            return found
        case ast.Subscript(value=ast.Name(id=found), ctx=ast.Del()):
            return found
        case ast.Subscript(value=ast.Name(id=found), slice=ast.Slice(), ctx=ast.Store()):
            return found
    return ""
