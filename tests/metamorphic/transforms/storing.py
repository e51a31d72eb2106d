"""The same values in another kind of place: an attribute, an item, an annotated name, a name bound in an expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from random import Random

from .scopes import Function, functions, outermost, standing_for, variables

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


def unpacked(tree: ast.Module, _random: Random) -> ast.Module:
    """`loss = net(x)` becomes `loss, beside_it = net(x), None`."""
    for function in outermost(tree):
        _Unpacking(variables(function, tree)).visit(function)
    return tree


def returned_by_name(tree: ast.Module, _random: Random) -> ast.Module:
    """`return net(x)` becomes `result_here = net(x)` and `return result_here`."""
    for function in functions(tree):
        if not any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)):
            _Returning().visit(function)
    return tree


def listed_in_loops(tree: ast.Module, _random: Random) -> ast.Module:
    """`ys = [net(x) for x in xs]` becomes `ys = []` and a loop that appends."""
    for function in functions(tree):
        _Listing(function).visit(function)
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


class _Unpacking(ast.NodeTransformer):
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
                node.targets = [ast.Tuple([name, ast.Name("beside_it", ast.Store())], ast.Store())]
                node.value = ast.Tuple([node.value, ast.Constant(None)], ast.Load())
        return node


class _Returning(ast.NodeTransformer):
    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        if node.value is None or isinstance(node.value, ast.Name | ast.Constant):
            return node
        made = standing_for(node, ast.Assign([ast.Name("result_here", ast.Store())], node.value))
        node.value = ast.Name("result_here", ast.Load())
        return [made, node]


class _Listing(ast.NodeTransformer):
    def __init__(self, function: Function) -> None:
        self._names = [node.id for node in ast.walk(function) if isinstance(node, ast.Name)]
        self._names += [node.arg for node in ast.walk(function) if isinstance(node, ast.arg)]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        match node:
            case ast.Assign(
                [ast.Name(name)], ast.ListComp(element, [ast.comprehension(ast.Name(each) as target, source, [], 0)])
            ) if self._only_there(each, node) and name not in ast.unparse(node.value):
                made = ast.parse(f"{name} = []\nfor {target.id} in ():\n    {name}.append(0)").body
                assert isinstance(made[1], ast.For)
                appended = made[1].body[0]
                assert isinstance(appended, ast.Expr)
                assert isinstance(appended.value, ast.Call)
                made[1].iter, appended.value.args = source, [element]
                return [standing_for(node, statement) for statement in made]
        return node

    def _only_there(self, name: str, node: ast.Assign) -> bool:
        """Whether the function has no other variable of that name."""
        inside = [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
        return self._names.count(name) == inside.count(name)
