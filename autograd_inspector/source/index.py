"""One file's syntax tree with the indices over it. Whoever asks twice walks the tree once."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Protocol, TypeVar, cast

Function = ast.FunctionDef | ast.AsyncFunctionDef
Span = tuple[int, int, int, int]
"""Line, last line, column, column behind the end."""


_NO_PARTS = (ast.Name, ast.Constant, ast.JoinedStr, ast.FormattedValue)


class Index(Protocol):
    """What a reader makes of a file once, for all its questions."""

    def __init__(self, source: Source) -> None: ...


Made = TypeVar("Made", bound=Index)


class Source:
    """A file that was parsed. Every index is in the order of ``ast.walk``, and is built when it is first asked for."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self._indices: dict[type[Index], Index] = {}

    def index(self, kind: type[Made]) -> Made:
        """A reader's own index over the file."""
        reader_index = self._indices.get(kind)
        if reader_index is None:
            reader_index = self._indices[kind] = kind(self)
        return cast("Made", reader_index)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All of them, breadth first."""
        return list(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """What each node is a part of."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    @cached_property
    def functions(self) -> list[Function]:
        """The definitions of functions and methods."""
        return [node for node in self.nodes if isinstance(node, Function)]

    @cached_property
    def named(self) -> dict[str, list[Function]]:
        """The definitions by name."""
        named: dict[str, list[Function]] = {}
        for function in self.functions:
            named.setdefault(function.name, []).append(function)
        return named

    @cached_property
    def _defined(self) -> dict[int, Function]:
        defined: dict[int, Function] = {}
        for function in self.functions:
            for line in (function.lineno, *(decorator.lineno for decorator in function.decorator_list)):
                defined.setdefault(line, function)
        return defined

    def definition_at(self, line: int) -> Function | None:
        """The definition that begins on a line, or that has a decorator there."""
        return self._defined.get(line)

    @cached_property
    def outer(self) -> dict[ast.AST, ast.AST]:
        """Function -> the one that it is defined in, else the module."""
        outer: dict[ast.AST, ast.AST] = {}
        around: list[Function] = []
        for function in self._by_line:
            while around and (around[-1].end_lineno or 0) < function.lineno:
                around.pop()
            outer[function] = around[-1] if around else self.tree
            around.append(function)
        return outer

    @cached_property
    def _by_line(self) -> list[Function]:
        return sorted(self.functions, key=lambda function: function.lineno)

    @cached_property
    def _starts(self) -> list[int]:
        return [function.lineno for function in self._by_line]

    def scope_at(self, line: int) -> ast.AST:
        """The innermost function around a line, else the module."""
        place = bisect_right(self._starts, line)
        scope: ast.AST = self._by_line[place - 1] if place else self.tree
        while isinstance(scope, Function) and (scope.end_lineno or 0) < line:
            scope = self.outer[scope]
        return scope

    def scopes_around(self, line: int) -> Iterator[ast.AST]:
        """The functions around a line, innermost first, then the module."""
        scope = self.scope_at(line)
        while scope is not self.tree:
            yield scope
            scope = self.outer[scope]
        yield scope

    @cached_property
    def assignments(self) -> dict[int, list[ast.stmt | ast.NamedExpr]]:
        """What assigns, by each line that it covers."""
        assignments: dict[int, list[ast.stmt | ast.NamedExpr]] = {}
        for node in self.nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)):
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    assignments.setdefault(line, []).append(node)
        return assignments

    @cached_property
    def _expressions(self) -> dict[Span, ast.expr]:
        expressions: dict[Span, ast.expr] = {}
        for node in self.nodes:
            if isinstance(node, ast.expr) and not isinstance(node, _NO_PARTS):
                expressions.setdefault(span_of(node), node)
        return expressions

    def expression_at(self, span: Span) -> ast.expr | None:
        """The expression, of more than a name, that stands exactly there."""
        return self._expressions.get(span)


def span_of(node: ast.expr) -> Span:
    """Where an expression stands."""
    return node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0


def last_return(function: Function) -> int:
    """The line of a function's last return statement, else of its definition."""
    lines = [node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)]
    return max(lines, default=function.lineno)
