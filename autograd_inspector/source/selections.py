"""Where a file picks parameters out of others: the comprehensions with a condition, by the functions around them."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source

_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
_PICKING = frozenset({"filter"})


class Selections:
    """The lines, in the order of the file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines: dict[ast.AST, list[int]] = {}
        for node in source.nodes:
            picks = isinstance(node, _COMPREHENSIONS) and any(part.ifs for part in node.generators)
            if picks or (isinstance(node, ast.Call) and _name(node) in _PICKING):
                line = getattr(node, "lineno", 0)
                self._lines.setdefault(source.scope_at(line), []).append(line)

    def for_call(self, line: int) -> list[int]:
        """Those of the function around a line, and of the functions of the file that the line calls."""
        scopes: list[ast.AST] = [self._source.scope_at(line)]
        for node in ast.walk(scopes[0]):
            if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
                scopes += self._source.named.get(_name(node), [])
        lines = [each for scope in dict.fromkeys(scopes) for each in self._lines.get(scope, ())]
        return sorted(dict.fromkeys(lines))


def _name(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
