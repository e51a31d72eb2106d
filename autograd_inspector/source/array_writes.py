"""Statements that write the memory of an array: ``a[0] = 1``, ``a += 1``, ``a.fill(0)``, ``np.copyto(a, b)``."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import NamedTuple

from autograd_inspector.source.index import Source

_METHODS = {"fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap"}
_FUNCTIONS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "put_along_axis"}


class ArrayWrite(NamedTuple):
    """A statement or call that writes: ``into`` is the expression whose memory it writes."""

    order: int
    line: int
    node: ast.AST
    into: ast.expr

    def holds(self, line: int, column: int) -> bool:
        """Whether the expression at a position is (a part of) what is written into."""
        return _holds(self.node, line, column) and _holds(self.into, line, column)


class ArrayWrites:
    """Those of a file, by where they begin and by the variable that they write into."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._by_line: dict[int, list[ArrayWrite]] = {}
        self._by_name: dict[tuple[ast.AST, str], list[ArrayWrite]] = {}
        for order, node in enumerate(source.nodes):
            into = _written(node)
            if into is not None:
                write = ArrayWrite(order, getattr(node, "lineno", 0), node, into)
                self._by_line.setdefault(write.line, []).append(write)
                for scope in source.scopes_around(write.line):
                    self._by_name.setdefault((scope, _base_name(into)), []).append(write)

    def at(self, line: int, column: int) -> list[ArrayWrite]:
        """Those on a line that write into the expression at a position."""
        return [write for write in self._by_line.get(line, ()) if write.holds(line, column)]

    def below(self, line: int, name: str) -> list[ArrayWrite]:
        """Those further down in the function around a line that write into a variable."""
        scope = self._source.scope_at(line)
        return [write for write in self._by_name.get((scope, name), ()) if write.line > line]

    @cached_property
    def _calls(self) -> dict[tuple[int, int], ast.Call]:
        calls: dict[tuple[int, int], ast.Call] = {}
        for node in self._source.nodes:
            if isinstance(node, ast.Call) and node.args:
                calls.setdefault((node.lineno, node.col_offset), node)
        return calls

    def first_argument(self, line: int, column: int) -> str:
        """The variable that the call at a position was given first; "" where it is none."""
        call = self._calls.get((line, column))
        return call.args[0].id if call is not None and isinstance(call.args[0], ast.Name) else ""


def _written(node: ast.AST) -> ast.expr | None:
    """The expression whose memory a node writes, if it writes any."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0]
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "out":
                return keyword.value
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in _METHODS:
                return node.func.value
            if node.func.attr in _FUNCTIONS and node.args:
                return node.args[0]
    return None


def _base_name(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _holds(node: ast.AST, line: int, column: int) -> bool:
    """Whether the position lies inside the node."""
    start = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
    end = (getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)
    return start <= (line, column) < end
