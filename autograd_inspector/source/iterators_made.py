"""Where a file makes the iterators that it hands to a call under a name: ``params = model.parameters()``."""

from __future__ import annotations

import ast

from autograd_inspector.source.fragments import is_path
from autograd_inspector.source.index import Source
from autograd_inspector.source.writing import written

_LISTING = frozenset({"list", "tuple", "sorted", "set"})


class IteratorsMade:
    """The assignments of calls and generators, by what they are assigned to."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._calls: dict[int, list[ast.Call]] = {}
        self._values: dict[str, list[ast.expr]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Call):
                self._calls.setdefault(node.lineno, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Call, ast.GeneratorExp)):
                for target in node.targets:
                    if is_path(target):
                        self._values.setdefault(written(target), []).append(node.value)

    def given_at(self, line: int) -> list[int]:
        """Where what a call of a line is given first was made; where a function of the file returns it, that return."""
        names = [written(call.args[0]) for call in self._calls.get(line, ()) if call.args and is_path(call.args[0])]
        lines = [each for name in names for value in self._values.get(name, ()) for each in self._made(value)]
        return sorted(dict.fromkeys(lines))

    def _made(self, value: ast.expr) -> list[int]:
        match value:
            case ast.Call(func=ast.Name(name)) if name in _LISTING:
                return []
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in self._source.named:
                return [
                    node.lineno
                    for function in self._source.named[name]
                    for node in ast.walk(function)
                    if isinstance(node, ast.Return) and isinstance(node.value, (ast.Call, ast.GeneratorExp))
                ]
        return [value.lineno]
