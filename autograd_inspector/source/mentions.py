"""Where a file reads a variable or an attribute, and what else it calls it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from autograd_inspector.source.index import Source
from autograd_inspector.source.writing import written

Key = tuple[ast.AST, type[ast.expr], str]
"""(scope, variable or attribute, its last name)."""


class Mentions:
    """The statements of a file by what they read. A statement counts for each function around it, and the module."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._statements_of: dict[tuple[ast.AST, str], list[ast.stmt]] = {}

    def reading(self, scope: ast.AST, name: str) -> list[ast.stmt]:
        """The statements of a scope that read it as it is written there; a loop over it as a whole."""
        statements = self._statements_of.get((scope, name))
        if statements is None:
            pairs = self._reads.get(_key(scope, name), ())
            statements = self._statements_of[scope, name] = list(
                dict.fromkeys(s for s, node in pairs if _written(node) == name)
            )
        return statements

    def renamed(self, scope: ast.AST, name: str) -> list[ast.Assign]:
        """The statements of a scope that give it another name: ``previous = current``."""
        pairs = self._assigned.get(_key(scope, name), ())
        return [statement for statement, node in pairs if _written(node) == name]

    @cached_property
    def _reads(self) -> dict[Key, list[tuple[ast.stmt, ast.expr]]]:
        reads: dict[Key, list[tuple[ast.stmt, ast.expr]]] = {}
        for node in self._source.nodes:
            if isinstance(node, ast.stmt):
                read = list(_read_by(node))
                for scope in self._source.scopes_around(node.lineno) if read else ():
                    for part in read:
                        reads.setdefault((scope, type(part), _last(part)), []).append((node, part))
        return reads

    @cached_property
    def _assigned(self) -> dict[Key, list[tuple[ast.Assign, ast.expr]]]:
        assigned: dict[Key, list[tuple[ast.Assign, ast.expr]]] = {}
        for node in self._source.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute)):
                for scope in self._source.scopes_around(node.lineno):
                    assigned.setdefault((scope, type(node.value), _last(node.value)), []).append((node, node.value))
        return assigned


def _read_by(statement: ast.stmt) -> Iterator[ast.Name | ast.Attribute]:
    if isinstance(statement, ast.For):
        part: ast.AST = statement.iter
    elif hasattr(statement, "body"):
        return
    else:
        part = statement
    for node in ast.walk(part):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            yield node


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _key(scope: ast.AST, name: str) -> Key:
    return (scope, ast.Name, name) if name.isidentifier() else (scope, ast.Attribute, name.rpartition(".")[2])


def _written(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else written(node)
