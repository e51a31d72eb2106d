"""Which variables a loop, or a function, makes anew, empties or shortens."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_SHRINKING = {"clear", "pop", "popleft", "popitem", "remove"}


class Resets:
    """Those of each loop and function of a file, what lies within it included."""

    def __init__(self, _: Source) -> None:
        self._names_of_block: dict[ast.AST, set[str]] = {}

    def within(self, block: ast.AST) -> set[str]:
        """The variables of one of them."""
        names = self._names_of_block.get(block)
        if names is None:
            names = self._names_of_block[block] = {_reset(node) for node in ast.walk(block)} - {""}
        return names


def _reset(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=how)) if how in _SHRINKING:
            return name
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Del()):
            return name
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(), ctx=ast.Store()):
            return name
    return ""
