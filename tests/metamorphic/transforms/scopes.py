"""Which names belong to a function alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef


def outermost(tree: ast.AST) -> Iterator[Function]:
    """Functions that no other function holds."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield node
        else:
            yield from outermost(node)


def functions(tree: ast.AST) -> Iterator[Function]:
    """All functions."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def variables(function: Function, tree: ast.Module) -> set[str]:
    """The variables of a function and of those inside it that nobody knows by name: no parameter, no attribute."""
    bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return bound - _known(function) - _globals(tree)


def _known(function: Function) -> set[str]:
    """Names that are spelled elsewhere, too: in calls, in strings, in classes."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found.add(node.name)
            found.update(n.id for each in node.body for n in ast.walk(each) if _stored(n) and not _holds(each))
        elif isinstance(node, Function):
            found.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            found.add(node.value)
    return found


def _stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _holds(node: ast.stmt) -> bool:
    return isinstance(node, Function)


def _globals(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        else:
            found.update(n.id for n in ast.walk(node) if _stored(n))
    return found
