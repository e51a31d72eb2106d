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


def standing_for(original: ast.stmt, made: ast.stmt) -> ast.stmt:
    """A statement, and those in it, that have the place of another one."""
    for node in ast.walk(made):
        if isinstance(node, ast.stmt) and not hasattr(node, "original"):
            node.original = getattr(original, "original", -1)  # type: ignore[attr-defined]
    return made


def variables(function: Function, tree: ast.Module) -> set[str]:
    """The variables of a function and of those inside it that nobody knows by name: no parameter, no attribute."""
    bound = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return bound - _known(function) - _globals(tree)


def _known(function: Function) -> set[str]:
    """Names that are spelled elsewhere, too: in calls, in strings, in classes."""
    names: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, ast.ExceptHandler) and node.name:
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.add(node.name)
            names.update(n.id for each in node.body for n in ast.walk(each) if _stored(n) and not _holds(each))
        elif isinstance(node, Function):
            names.add(node.name)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.add(node.value)
    return names


def _stored(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _holds(node: ast.stmt) -> bool:
    return isinstance(node, Function)


def _globals(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name.split(".")[0] for alias in node.names)
        else:
            names.update(n.id for n in ast.walk(node) if _stored(n))
    return names
