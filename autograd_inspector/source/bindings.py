"""What a name is bound to at a place of a file: an imported module, another path, or what only a run tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from autograd_inspector.source.index import Function, Source

_BINDING = {
    *(ast.Import, ast.ImportFrom, ast.Assign, ast.Name, ast.arg, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
    *(ast.MatchAs, ast.MatchStar, ast.ExceptHandler),
}
"""Most nodes are of other types: to ask for the type first takes a fifth of the time."""


class Meaning(NamedTuple):
    """What a name stands for: ``imported`` as that path, or another name for ``path``; neither: something else."""

    path: str = ""
    imported: bool = False


class Bindings:
    """All that bind names in a file, by scope: imports, assignments, parameters, definitions."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._meanings: dict[tuple[ast.AST, str], set[Meaning]] = {}
        renamed: set[ast.AST] = set()
        for node in source.nodes:
            if type(node) not in _BINDING or node in renamed:
                continue
            for name, meaning in _bound(node):
                self._meanings.setdefault((self._scope(node), name), set()).add(meaning)
                if meaning.path and isinstance(node, ast.Assign):
                    renamed.update(node.targets)
        for node in source.nodes:
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                for name in node.names:
                    self._meanings.pop((self._scope(node), name), None)

    def _scope(self, node: ast.AST) -> ast.AST:
        """Of a function's own name the scope that it is defined in."""
        outer = self._source.outer[node] if isinstance(node, Function) else None
        return outer or self._source.scope_at(getattr(node, "lineno", 0))

    def scope_of(self, name: str, line: int) -> ast.AST | None:
        """The function around a line, else the module, that binds a name which that line reads; None: none does."""
        return next((scope for scope in self._source.scopes_around(line) if (scope, name) in self._meanings), None)

    def meaning(self, name: str, scope: ast.AST) -> Meaning:
        """What the scope that binds a name binds it to, where it is the same each time."""
        meanings = self._meanings.get((scope, name), set())
        return next(iter(meanings)) if len(meanings) == 1 else Meaning()


def _bound(node: ast.AST) -> Iterator[tuple[str, Meaning]]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return
    match node:
        case ast.Import(names=names):
            for each in names:
                path = each.name if each.asname else each.name.partition(".")[0]
                yield each.asname or path, Meaning(path, imported=True)
        case ast.ImportFrom(module=module, names=names, level=level):
            for each in names:
                path = f"{module}.{each.name}" if module and not level else ""
                yield each.asname or each.name, Meaning(path, imported=bool(path))
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name() | ast.Attribute() as value):
            yield name, Meaning(path_of(value))
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name, Meaning()
        case ast.FunctionDef(name=str(name)) | ast.AsyncFunctionDef(name=str(name)) | ast.ClassDef(name=str(name)):
            yield name, Meaning()
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name, Meaning()


def path_of(node: ast.expr) -> str:
    """``nn.init`` of a name or of attributes of one, "" of any other expression."""
    attributes = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(attributes)]) if isinstance(node, ast.Name) else ""
