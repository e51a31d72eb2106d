"""Statements that leave a round of a loop, or a function: ``continue``, ``break``, ``return``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class Exits:
    """Those of a file."""

    def __init__(self, source: Source) -> None:
        lines = [node.lineno for node in source.nodes if isinstance(node, (ast.Continue, ast.Break, ast.Return))]
        self._lines = [(source.scope_at(line), line) for line in lines]

    def within(self, scope: ast.AST, first: int, last: int) -> list[int]:
        """Their lines in a function, between two others."""
        return sorted(line for around, line in self._lines if around is scope and first < line < last)
