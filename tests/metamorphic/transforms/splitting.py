"""The same calls in more statements, and statements in blocks that change nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from random import Random

from .scopes import Function, functions

_BLOCKS = (
    "if len('') == 0:\n    pass",
    "try:\n    pass\nfinally:\n    len('')",
    "with __import__('contextlib').nullcontext():\n    pass",
)
_BARE = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
"""What stays where it is: declarations hold for the whole function."""


def split(tree: ast.Module, _random: Random) -> ast.Module:
    """`y = net(x).relu().sum()` becomes `link_1 = net(x)`, `link_2 = link_1.relu()`, `y = link_2.sum()`."""
    for function in functions(tree):
        links = [0]
        _each_body(function, lambda body, links=links: [each for one in body for each in _split(one, links)])
    return tree


def wrapped(tree: ast.Module, random: Random) -> ast.Module:
    """Every other statement is in a block of its own that runs once."""

    def rewrap(body: list[ast.stmt]) -> list[ast.stmt]:
        return [_wrapped(each, random) if random.random() < 0.5 else each for each in body]

    for function in functions(tree):
        if not any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(function)):
            _each_body(function, rewrap)
    return tree


def _each_body(owner: ast.AST, rewrite) -> None:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(owner, field, None)
        if not isinstance(body, list) or not all(isinstance(each, ast.stmt) for each in body):
            continue
        for statement in body:
            if not isinstance(statement, Function | ast.ClassDef):
                _each_body(statement, rewrite)
        docstring = 1 if isinstance(owner, Function) and ast.get_docstring(owner) is not None else 0
        setattr(owner, field, body[:docstring] + rewrite(body[docstring:]))
    for handler in getattr(owner, "handlers", ()):
        _each_body(handler, rewrite)


def _split(statement: ast.stmt, links: list[int]) -> Iterator[ast.stmt]:
    value = getattr(statement, "value", None)
    simple = isinstance(statement, ast.Expr | ast.Return) or (
        isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets)
    )
    if simple and value is not None:
        yield from _links(value, statement, links)
    yield statement


def _links(value: ast.expr, statement: ast.stmt, links: list[int]) -> Iterator[ast.stmt]:
    """The calls that a chain begins with; what is evaluated first stays first."""
    if not (isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)):
        return
    base = value.func.value
    if not isinstance(base, ast.Call) or _is_super(base):
        return
    yield from _links(base, statement, links)
    links[0] += 1
    name = f"link_{links[0]}"
    made = ast.Assign([ast.Name(name, ast.Store())], base)
    made.original = getattr(statement, "original", -1)  # type: ignore[attr-defined]
    value.func.value = ast.Name(name, ast.Load())
    yield made


def _is_super(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "super"


def _wrapped(statement: ast.stmt, random: Random) -> ast.stmt:
    if isinstance(statement, _BARE):
        return statement
    block = ast.parse(random.choice(_BLOCKS)).body[0]
    block.body = [statement]  # type: ignore[attr-defined]
    return block
