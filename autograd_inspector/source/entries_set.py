"""Assignments to entries under a key that is written out: ``group["amsgrad"] = True``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class EntriesSet:
    """Those of a file, by the functions around them and the module."""

    def __init__(self, source: Source) -> None:
        self._keys_of_scope: dict[ast.AST, list[tuple[int, str]]] = {}
        for node in source.nodes:
            if not isinstance(node, (ast.Assign, ast.AugAssign)):
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                match target:
                    case ast.Subscript(slice=ast.Constant(value=key)):
                        for scope in source.scopes_around(node.lineno):
                            self._keys_of_scope.setdefault(scope, []).append((node.lineno, str(key)))

    def within(self, scope: ast.AST) -> list[tuple[int, str]]:
        """(line, key) of those of a function, and of the functions that it defines."""
        return self._keys_of_scope.get(scope, [])
