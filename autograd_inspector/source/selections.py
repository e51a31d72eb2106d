"""Where a file picks parameters out of others, or puts them in another order, by the functions around these lines."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_PICKING = frozenset({"filter"})
_ORDERING = frozenset({"sorted", "reversed", "sort", "reverse", "shuffle"})


class Selections:
    """The lines, in the order of the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._picks: dict[ast.AST, list[int]] = {}
        self._orders: dict[ast.AST, list[int]] = {}
        for node in source.nodes:
            lines = self._picks if _picks(node) else self._orders if _orders(node) else None
            if lines is not None:
                line = getattr(node, "lineno", 0)
                lines.setdefault(source.scope_at(line), []).append(line)

    def for_call(self, line: int) -> list[int]:
        """The lines with a condition, of the function around a line and of the functions of the file that it calls."""
        return self._near(self._picks, line)

    def orders_for_call(self, line: int) -> list[int]:
        """The lines that sort, reverse or shuffle, of the same functions."""
        return self._near(self._orders, line)

    def _near(self, lines_of: dict[ast.AST, list[int]], line: int) -> list[int]:
        scopes: list[ast.AST] = [self._source.scope_at(line)]
        for node in ast.walk(scopes[0]):
            if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
                scopes += self._source.named.get(_name(node), [])
        lines = [each for scope in dict.fromkeys(scopes) for each in lines_of.get(scope, ())]
        return sorted(dict.fromkeys(lines))


def _picks(node: ast.AST) -> bool:
    if isinstance(node, _COMPREHENSIONS):
        return any(part.ifs for part in node.generators)
    return isinstance(node, ast.Call) and _name(node) in _PICKING


def _orders(node: ast.AST) -> bool:
    match node:
        case ast.Call():
            return _name(node) in _ORDERING
        case ast.Subscript(slice=ast.Slice(step=ast.UnaryOp(op=ast.USub()))):
            return True
    return False


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
