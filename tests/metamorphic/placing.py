"""Which statement of the original a line of a rewritten module stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

NEW = -1
"""The line of what was not in the original."""


def statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """All statements, each before those inside it."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.stmt))


def marked(tree: ast.Module) -> ast.Module:
    """The same tree, each statement of which knows the line that it begins on."""
    for node in statements(tree):
        node.original = node.lineno  # type: ignore[attr-defined]
    return tree


def written(tree: ast.Module) -> tuple[str, dict[int, int]]:
    """Its source, and each line of that -> the line of the original statement on it."""
    source = ast.unparse(ast.fix_missing_locations(tree))
    return source, dict(_lines(tree, ast.parse(source)))


def _lines(tree: ast.AST, again: ast.AST) -> Iterator[tuple[int, int]]:
    for old, new in zip(statements(tree), statements(again), strict=True):
        for line in range(_first(new), _last(new) + 1):
            yield line, getattr(old, "original", NEW)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])


def _last(node: ast.stmt) -> int:
    """Of a statement with a body the end of its head."""
    body = getattr(node, "body", None)
    return body[0].lineno - 1 if body else node.end_lineno or node.lineno


def first_lines(source: str) -> dict[int, int]:
    """Each line of a module -> the line that its innermost statement begins on."""
    starts: dict[int, int] = {}
    for node in statements(ast.parse(source)):
        for line in range(_first(node), (node.end_lineno or node.lineno) + 1):
            starts[line] = max(starts.get(line, 0), node.lineno)
    return starts
