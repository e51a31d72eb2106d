"""The same values in another kind of place: an attribute, an item, an annotated name, a name bound in an expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from random import Random

from .scopes import Function, outermost, variables

_HOLDER = "kept_here"
Place = Callable[[str, ast.expr_context], ast.expr]


def as_attributes(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss = net(x)` becomes `kept_here.loss = net(kept_here.x)`."""
    return _held(tree, "__import__('types').SimpleNamespace()", _attribute)


def as_items(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss = net(x)` becomes `kept_here['loss'] = net(kept_here['x'])`."""
    return _held(tree, "{}", _item)


def annotated(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss = net(x)` becomes `loss: object = net(x)`."""
    for function in outermost(tree):
        _Annotating(variables(function, tree)).visit(function)
    return tree


def in_expressions(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss = net(x)` becomes `(loss := net(x))`."""
    for function in outermost(tree):
        _Binding(variables(function, tree)).visit(function)
    return tree


def _held(tree: ast.Module, holder: str, place: Place) -> ast.Module:
    for function in outermost(tree):
        names = variables(function, tree) & set(_own(function))
        if names:
            _Placing(names, place).visit(function)
            at = 1 if ast.get_docstring(function) is not None else 0
            function.body.insert(at, ast.parse(f"{_HOLDER} = {holder}").body[0])
    return tree


def _own(function: Function) -> Iterator[str]:
    """Names that the function itself sets and nothing inside it does: there they would live longer, or be others."""
    inside = {
        name.id
        for node in ast.walk(function)
        if node is not function and isinstance(node, Function | ast.Lambda | ast.comprehension | ast.NamedExpr)
        for name in ast.walk(node.target if isinstance(node, ast.comprehension | ast.NamedExpr) else node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in inside:
            yield node.id


def _attribute(name: str, context: ast.expr_context) -> ast.expr:
    return ast.Attribute(ast.Name(_HOLDER, ast.Load()), name, context)


def _item(name: str, context: ast.expr_context) -> ast.expr:
    return ast.Subscript(ast.Name(_HOLDER, ast.Load()), ast.Constant(name), context)


class _Placing(ast.NodeTransformer):
    def __init__(self, names: set[str], place: Place) -> None:
        self._names = names
        self._place = place

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._place(node.id, node.ctx) if node.id in self._names else node


class _Annotating(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node.targets:
            case [ast.Name() as name] if name.id in self._names:
                made = ast.AnnAssign(name, ast.Name("object", ast.Load()), node.value, simple=1)
                made.original = node.original  # type: ignore[attr-defined]
                return made
        return node


class _Binding(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        for each in node.body:
            if isinstance(each, Function):
                self.visit(each)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node.targets:
            case [ast.Name() as name] if name.id in self._names:
                made = ast.Expr(ast.NamedExpr(name, node.value))
                made.original = node.original  # type: ignore[attr-defined]
                return made
        return node
