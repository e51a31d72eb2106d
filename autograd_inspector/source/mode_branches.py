"""The branches of ``if self.training:``, by the functions that they stand in."""

from __future__ import annotations

import ast
from typing import NamedTuple

from autograd_inspector.source.index import Source

_MODE = "training"


class ModeBranch(NamedTuple):
    """The statements from ``first`` to ``last``, of the condition on ``line``."""

    line: int
    first: int
    last: int


class ModeBranches:
    """Those of a file."""

    def __init__(self, source: Source) -> None:
        self._by_scope: dict[ast.AST, list[ModeBranch]] = {}
        for node in source.nodes:
            if isinstance(node, ast.If) and _asks(node.test):
                branches = self._by_scope.setdefault(source.scope_at(node.lineno), [])
                for block in filter(None, (node.body, node.orelse)):
                    last = block[-1]
                    branches.append(ModeBranch(node.lineno, block[0].lineno, last.end_lineno or last.lineno))

    def within(self, scope: ast.AST) -> list[ModeBranch]:
        """The branches of one function."""
        return self._by_scope.get(scope, [])


def _asks(test: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == _MODE for part in ast.walk(test))
