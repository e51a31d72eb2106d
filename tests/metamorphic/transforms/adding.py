"""Statements that look at values, or that never run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from random import Random

from .scopes import functions

_LOOK = """
try:
    if {name}.is_floating_point() and {name}.numel():
        {look}
except Exception:
    pass
"""
_NEVER = """
if len(()) > 1:
    optimizer.zero_grad()
    loss.detach().backward()
    torch.set_grad_enabled(False)
    weight.data.numpy().fill(0)
    deepcopy(log_prob).item()
"""


def looked_at(tree: ast.Module, _random: Random) -> ast.Module:
    """What a variable was set to is printed as a mean."""
    return _after_assignments(tree, "print({name}.mean().item())")


def logged(tree: ast.Module, _random: Random) -> ast.Module:
    """What a variable was set to is given to a logger that writes nothing."""
    return _after_assignments(tree, "__import__('logging').getLogger('variant').debug('%s', {name})")


def asserted(tree: ast.Module, _random: Random) -> ast.Module:
    """What a variable was set to is asserted to be a tensor of some shape."""
    return _after_assignments(tree, "assert {name}.dim() >= 0 and {name}.shape is not None")


def formatted(tree: ast.Module, _random: Random) -> ast.Module:
    """What a variable was set to is written into an f-string."""
    return _after_assignments(tree, "f'{{{name}}}'")


def counted(tree: ast.Module, _random: Random) -> ast.Module:
    """Of what a variable was set to NumPy computes a number."""
    return _after_assignments(tree, "float({name}.detach().cpu().numpy().mean())")


def dead(tree: ast.Module, _random: Random) -> ast.Module:
    """Each function begins with calls that are never reached."""
    for function in functions(tree):
        at = 1 if ast.get_docstring(function) is not None else 0
        function.body[at:at] = ast.parse(_NEVER).body
    return tree


def _after_assignments(tree: ast.Module, look: str) -> ast.Module:
    for function in functions(tree):
        _follow(function, lambda name: ast.parse(_LOOK.format(name=name, look=look.format(name=name))).body)
    return tree


def _follow(owner: ast.AST, more: Callable[[str], list[ast.stmt]]) -> None:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(owner, field, None)
        if not isinstance(body, list) or not all(isinstance(each, ast.stmt) for each in body):
            continue
        extended: list[ast.stmt] = []
        for statement in body:
            extended.append(statement)
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue  # It has its own turn.
            _follow(statement, more)
            for name in _assigned(statement):
                extended += more(name)
        setattr(owner, field, extended)
    for handler in getattr(owner, "handlers", ()):
        _follow(handler, more)


def _assigned(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        yield statement.targets[0].id
