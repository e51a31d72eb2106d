"""The same statements in other blocks: a loop's body as a function, a function in a class."""

from __future__ import annotations

import ast
from random import Random

from .scopes import Function, functions

_LEAVING = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete,
    ast.Import, ast.ImportFrom, ast.NamedExpr, ast.FunctionDef, ast.ClassDef, ast.Lambda,
)  # fmt: skip
"""What means something else in a function of its own, or what that function's variables would be seen in."""


def in_function(tree: ast.Module, _random: Random) -> ast.Module:
    """`for x in xs: body` becomes `def round(): body` and `for x in xs: round()`."""
    for function in [*functions(tree)]:
        _loops(function, function, {"count": 0})
    return tree


def _loops(owner: ast.AST, function: Function, made: dict[str, int]) -> None:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(owner, field, None)
        if not isinstance(body, list) or isinstance(owner, ast.Lambda | ast.IfExp):
            continue
        statements: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                statements.append(statement)
                continue
            if isinstance(statement, ast.For) and _movable(statement):
                made["count"] += 1
                statements += _moved(statement, f"one_round_{made['count']}")
            else:
                _loops(statement, function, made)
            statements.append(statement)
        setattr(owner, field, statements)


def _movable(loop: ast.For) -> bool:
    return not any(isinstance(node, _LEAVING) for each in loop.body for node in ast.walk(each))


def _moved(loop: ast.For, name: str) -> list[ast.stmt]:
    stored = sorted(
        {n.id for each in loop.body for n in ast.walk(each) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        - _in_comprehensions(loop)
    )
    before: list[ast.stmt] = []
    inner: list[ast.stmt] = [*loop.body]
    if stored:
        bound = f"if len(()) > 1:\n    {' = '.join(stored)} = None"
        before += ast.parse(bound).body
        inner.insert(0, ast.Nonlocal(names=stored))
    made = ast.parse(f"def {name}():\n    pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = inner
    loop.body = ast.parse(f"{name}()").body
    return [*before, made]


def _in_comprehensions(loop: ast.For) -> set[str]:
    names: set[str] = set()
    for each in loop.body:
        for node in ast.walk(each):
            if isinstance(node, ast.comprehension):
                names |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
    return names


def in_class(tree: ast.Module, _random: Random) -> ast.Module:
    """`def program(): …` becomes `class Holder: @staticmethod def program(): …` and `program = Holder.program`."""
    for function in [*functions(tree)]:
        body: list[ast.stmt] = []
        for statement in function.body:
            if isinstance(statement, ast.FunctionDef) and not statement.decorator_list and _wrappable(statement):
                body += _held(statement)
            else:
                body.append(statement)
        function.body = body
    return tree


def _wrappable(function: ast.FunctionDef) -> bool:
    """Whether it neither calls itself by its name nor sets variables of the function around it."""
    return not any(
        isinstance(node, ast.Nonlocal | ast.Global) or (isinstance(node, ast.Name) and node.id.startswith("__"))
        for node in ast.walk(function)
    )


def _held(function: ast.FunctionDef) -> list[ast.stmt]:
    holder = f"Holder_{function.name}"
    made = ast.parse(
        f"class {holder}:\n    @staticmethod\n    def f():\n        pass\n{function.name} = {holder}.{function.name}"
    )
    kind, bound = made.body
    assert isinstance(kind, ast.ClassDef)
    function.decorator_list = [ast.Name("staticmethod", ast.Load())]
    kind.body = [function]
    return [kind, bound]
