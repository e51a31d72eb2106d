"""The ``with`` statements of a file, by the functions that they call to enter: ``with parametrize.cached():``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class Blocks:
    """Those of a file."""

    def __init__(self, source: Source) -> None:
        self._blocks: dict[str, list[tuple[int, int]]] = {}
        for node in source.nodes:
            if not isinstance(node, (ast.With, ast.AsyncWith)):
                continue
            for item in node.items:
                called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                self._blocks.setdefault(name, []).append((item.context_expr.lineno, node.end_lineno or node.lineno))

    def around(self, line: int, name: str) -> int:
        """Where the innermost block around a line begins that calls a function of that name; 0: there is none."""
        return max((first for first, last in self._blocks.get(name, ()) if first <= line <= last), default=0)
