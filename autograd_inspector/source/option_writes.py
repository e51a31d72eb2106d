"""Assignments to ``optimizer.defaults["lr"]`` and ``optimizer.lr``."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source


class OptionWrites:
    """Those of a file, by the functions around them."""

    def __init__(self, source: Source) -> None:
        self._lines: dict[tuple[ast.AST, str, str], int] = {}
        self._all: dict[tuple[str, str], list[int]] = {}
        for node in source.nodes:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in [node.target] if isinstance(node, ast.AugAssign) else targets:
                key = _key(target)
                if key is not None and isinstance(node, ast.stmt):
                    self._lines.setdefault((source.scope_at(node.lineno), *key), node.lineno)
                    self._all.setdefault(key, []).append(node.lineno)

    def within(self, scope: ast.AST, owner: str, option: str) -> int:
        """The first line of a function that writes it; 0: none does."""
        return self._lines.get((scope, owner, option), 0)

    def only(self, option: str) -> int:
        """The one line of the file that writes it to ``defaults``; 0: none does, or several."""
        lines = self._all.get(("defaults", option), ())
        return lines[0] if len(lines) == 1 else 0


def _key(target: ast.expr) -> tuple[str, str] | None:
    match target:
        case ast.Subscript(value=ast.Attribute(attr="defaults"), slice=ast.Constant(value=str(option))):
            return "defaults", option
        case ast.Attribute(attr=option):
            return "", option
    return None
