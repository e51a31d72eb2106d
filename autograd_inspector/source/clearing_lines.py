"""Statements that clear gradients: ``opt.zero_grad()``, ``p.grad = None``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class ClearingLines:
    """Those of a file."""

    def __init__(self, source: Source) -> None:
        lines = [node.lineno for node in source.nodes if isinstance(node, (ast.Call, ast.Assign)) and _clears(node)]
        self._lines = [(source.scope_at(line), line) for line in lines]

    def within(self, scope: ast.AST, first: int, last: int) -> list[int]:
        """Their lines in a function, between two others."""
        return sorted(line for around, line in self._lines if around is scope and first < line < last)


def _clears(node: ast.Call | ast.Assign) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="zero_grad")):
            return True
        case ast.Assign(targets=targets, value=ast.Constant(value=None)):
            return any(isinstance(target, ast.Attribute) and target.attr == "grad" for target in targets)
    return False
