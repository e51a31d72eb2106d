"""What Python calls the function around a line, with the classes and functions around it."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Function, Source

_MODULE = "<module>"
_LOCALS = "<locals>"


class Qualified:
    """The names of a file's functions."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def at(self, line: int) -> str:
        """The qualified name of the innermost function around a line."""
        scope = self._source.scope_at(line)
        if not isinstance(scope, Function):
            return _MODULE
        names = [scope.name]
        node: ast.AST = scope
        while node in self._source.parents:
            node = self._source.parents[node]
            if isinstance(node, Function):
                names += _LOCALS, node.name
            elif isinstance(node, ast.ClassDef):
                names.append(node.name)
        return ".".join(reversed(names))
