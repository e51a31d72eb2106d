"""The same calls by way of something else: a table of callables, `partial`, a decorator, a base class."""

from __future__ import annotations

import ast
from collections.abc import Callable
from random import Random

from .scopes import Function, functions

_DECORATOR = """
def passed_on(function):
    @__import__('functools').wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner
"""
_SPECIAL = frozenset({"super", "locals", "globals", "vars", "eval", "exec", "dir"})


def from_table(tree: ast.Module, _random: Random) -> ast.Module:
    """`y = net(x)` becomes `y = {'it': net}['it'](x)`."""
    return _called_by(tree, lambda call: ast.Subscript(_table(call.func), ast.Constant("it"), ast.Load()))


def partly_bound(tree: ast.Module, _random: Random) -> ast.Module:
    """`y = net(x)` becomes `y = functools.partial(net, x)()`."""

    def bound(call: ast.Call) -> ast.expr:
        partial = ast.parse("__import__('functools').partial", mode="eval").body
        made = ast.Call(partial, [call.func, *call.args], [])
        call.args = []
        return made

    return _called_by(tree, bound)


def decorated(tree: ast.Module, _random: Random) -> ast.Module:
    """Each function is called by a wrapper that a decorator puts around it."""
    for function in functions(tree):
        special = any(isinstance(node, ast.Name) and node.id in _SPECIAL for node in ast.walk(function))
        if isinstance(function, ast.FunctionDef) and not special and not function.name.startswith("__"):
            function.decorator_list.append(ast.Name("passed_on", ast.Load()))
    first = next(at for at, each in enumerate(tree.body) if not _leads(each))
    tree.body[first:first] = ast.parse(_DECORATOR).body
    return tree


def in_base_classes(tree: ast.Module, _random: Random) -> ast.Module:
    """`class Net(nn.Module): …` becomes `class NetBase(nn.Module): …` and `class Net(NetBase): pass`."""
    body: list[ast.stmt] = []
    for statement in tree.body:
        body.append(statement)
        if isinstance(statement, ast.ClassDef) and _derivable(statement):
            name, statement.name = statement.name, f"{statement.name}Base"
            body += ast.parse(f"class {name}({statement.name}):\n    pass").body
    tree.body = body
    return tree


def _derivable(made: ast.ClassDef) -> bool:
    """Whether it is a module or a function of autograd, and does not speak of itself by its name."""
    bases = {ast.unparse(base) for base in made.bases}
    named = any(isinstance(node, ast.Name) and node.id == made.name for node in ast.walk(made))
    return (
        bool(bases) and all(base.endswith(("Module", "Function")) for base in bases) and not made.decorator_list
    ) and not named


def _leads(statement: ast.stmt) -> bool:
    """Whether nothing of the program may stand before it."""
    docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return docstring or isinstance(statement, ast.Import | ast.ImportFrom)


def _table(value: ast.expr) -> ast.Dict:
    return ast.Dict([ast.Constant("it")], [value])


def _called_by(tree: ast.Module, way: Callable[[ast.Call], ast.expr]) -> ast.Module:
    """Of calls whose results are used: nobody looks `xs.append` up in a table."""
    for function in functions(tree):
        for node in _own(function):
            value = node.value if isinstance(node, ast.Assign | ast.Return) else None
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name | ast.Attribute) and _plain(value):
                value.func = way(value)
    return tree


def _own(function: Function) -> list[ast.AST]:
    """What is in a function and in none inside it."""
    todo: list[ast.AST] = [*function.body]
    for node in todo:  # It grows on the way.
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(node)
    return todo


def _plain(call: ast.Call) -> bool:
    """Whether it means the same from anywhere."""
    return not any(isinstance(node, ast.Name) and node.id in _SPECIAL for node in ast.walk(call.func)) and not any(
        isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr) for node in ast.walk(call)
    )
