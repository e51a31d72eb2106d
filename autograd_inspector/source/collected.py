"""Statements that put together a list of parameters before a call is given it by its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autograd_inspector.source.index import Function, Source, Span

_KEYWORDS = frozenset({"params", "param_group"})
_ADDING = frozenset({"append", "extend", "insert", "update", "add"})
_REPEATING = (ast.For, ast.AsyncFor, ast.While)
_WITHOUT_CONDITION = (ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.ClassDef)

Path = dict[ast.AST, str]
"""What lies around a node, up to its function -> the block of it that the node stands in."""


class Collecting(NamedTuple):
    """``conditional``: whether the statement ran before the call is for a condition to say."""

    line: int
    conditional: bool


class Collected:
    """Those of a file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._by_name: dict[tuple[ast.AST, str], list[ast.stmt]] = {}
        for node in source.nodes:
            if isinstance(node, ast.stmt):
                for name in _filled(node):
                    self._by_name.setdefault((source.scope_at(node.lineno), name), []).append(node)

    def names(self, span: Span) -> list[str]:
        """The variables that hold the parameters in the arguments of the call that stands there."""
        call = self._source.expression_at(span)
        if not isinstance(call, ast.Call):
            return []
        given = [word.value for word in call.keywords if word.arg in _KEYWORDS] or call.args[:1]
        return list(dict.fromkeys(name for value in given for name in _variables(value)))

    def receiver(self, span: Span) -> list[str]:
        """The variable of which the call that stands there takes a method."""
        match self._source.expression_at(span):
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name))):
                return [name]
        return []

    def before(self, span: Span, name: str, *, adding: bool = True) -> list[Collecting]:
        """The statements of the same function that bound the name, from the last binding on.

        With ``adding`` those as well that added to what it stands for.
        """
        scope, call = self._source.scope_at(span[0]), self._source.expression_at(span)
        found: list[Collecting] = []
        ways = {} if call is None else self._path(call, scope)
        for node in sorted(self._by_name.get((scope, name), ()), key=lambda node: node.lineno):
            if not adding and not isinstance(node, (ast.Assign, ast.AnnAssign)):
                continue
            path = self._path(node, scope)
            if (node.end_lineno or node.lineno) >= span[0] or any(ways.get(at, arm) != arm for at, arm in path.items()):
                continue
            apart = [at for at in path if at not in ways]
            conditional = any(not isinstance(at, _WITHOUT_CONDITION) for at in apart)
            if not conditional and not any(isinstance(at, _REPEATING) for at in apart) and _replaces(node, name):
                found = []
            found.append(Collecting(node.lineno, conditional))
        return found

    def place(self, span: Span, name: str) -> int:
        """Which parameter of the function around a line the name is, without ``self``; -1: it is none of them."""
        scope = self._source.scope_at(span[0])
        if not isinstance(scope, Function):
            return -1
        names = [each.arg for each in (*scope.args.posonlyargs, *scope.args.args)]
        bound = isinstance(self._source.parents.get(scope), ast.ClassDef)
        return names.index(name) - bound if name in names else -1

    def handed(self, span: Span, place: int, name: str) -> list[str]:
        """The variables that the call there gives to the parameter of that place and name."""
        call = self._source.expression_at(span)
        if not isinstance(call, ast.Call) or any(isinstance(value, ast.Starred) for value in call.args):
            return []
        given = [word.value for word in call.keywords if word.arg == name] or call.args[place : place + 1]
        return [each for value in given for each in _variables(value)]

    def _path(self, node: ast.AST, scope: ast.AST) -> Path:
        path: Path = {}
        parents = self._source.parents
        while node is not scope and node in parents:
            around = parents[node]
            if around is not scope and isinstance(around, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                path[around] = next((arm for arm, part in ast.iter_fields(around) if _is_in(node, part)), "")
            node = around
        return path


def _is_in(node: ast.AST, part: object) -> bool:
    return part is node or (isinstance(part, list) and any(each is node for each in part))


def _variables(value: ast.expr) -> Iterator[str]:
    """``own`` of ``own``, of ``{"params": own}`` and of a list of such groups."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Dict(keys=keys, values=values):
            for key, each in zip(keys, values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "params" and isinstance(each, ast.Name):
                    yield each.id
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from _variables(part) if isinstance(part, ast.Dict) else ()


def _filled(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _targets(target)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()) | ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr))) if attr in _ADDING:
            yield name


def _targets(target: ast.expr) -> Iterator[str]:
    parts: Sequence[ast.expr] = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    yield from (part.id for part in parts if isinstance(part, ast.Name))


def _replaces(node: ast.stmt, name: str) -> bool:
    """Whether nothing of what the name stood for before is left."""
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return value is not None and not any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(value))
