"""Which variables an expression hands on as they are: to the operator, the subscript or the call that it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.source.fragments import expression, statement

_SEVERAL = (ast.Tuple, ast.List)


def operand_names(text: str, op: str) -> frozenset[str]:
    """``a`` and ``b`` of ``a + b``, of ``a.add(b)``, of ``stack([a, b])``; ``a`` alone of ``a[b.sum()]``.

    ``op`` ran there, or in the function that is called: what a method of the program's own is called on is no operand.
    """
    node = expression(text)
    parts = () if node is None else _parts(node, op)
    return frozenset(filter(None, map(variable, parts)))


def written_name(text: str) -> str:
    """The variable that a write goes to: ``x`` of ``x.mul_(2).add_(y)``, of ``x[0] = y`` and of ``x += y``; or ""."""
    node: ast.AST | None = expression(text)
    if node is None and isinstance(augmented := statement(text), ast.AugAssign):
        node = augmented.target
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)) and not variable(node):
        node = node.func if isinstance(node, ast.Call) else node.value
    return variable(node)


def assigned_names(target: str) -> tuple[str, ...]:
    """The variables that are assigned: ``a`` and ``b`` of ``(a, b)``."""
    node = expression(target) if target else None
    parts = node.elts if isinstance(node, _SEVERAL) else [node]
    return tuple(filter(None, map(variable, parts)))


def variable(node: ast.AST | None) -> str:
    """A variable, or an entry of a dictionary that is one: ``a``, ``batch['labels']``; "" for another expression."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
            return f"{name}[{key!r}]"
    return ""


def _parts(node: ast.expr, op: str) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.Compare(left=left, comparators=others):
            yield from (left, *others)
        case ast.UnaryOp(operand=value) | ast.Subscript(value=value) | ast.Attribute(value=value):
            yield value
        case ast.Call(func=function, args=args, keywords=keywords):
            if isinstance(function, ast.Attribute) and function.attr == op:
                yield function.value
            for part in (*args, *(keyword.value for keyword in keywords)):
                yield from part.elts if isinstance(part, _SEVERAL) else (part,)
