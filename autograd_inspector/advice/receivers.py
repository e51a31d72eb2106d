"""What the source says that is modified or read: ``self.k`` of ``self.k[i] = x``, of ``self.k.add_(1)``, of ``self.k.grad``."""

from __future__ import annotations

import ast

from autograd_inspector.analysis.namespaces import is_value
from autograd_inspector.model.location import Location
from autograd_inspector.source.fragments import expression, statement
from autograd_inspector.source.writing import written

_SEVERAL = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)


def receiver(place: Location | None, op: str) -> str:
    """The expression that an op of that name modifies, "" where the source does not show it."""
    if place is None or not place.expression:
        return ""
    node = statement(place.expression)
    if isinstance(node, ast.AugAssign):
        return written(node.target)
    target = _modified(place, node.value, op) if isinstance(node, ast.Expr) else None
    # What a call returned has no name of its own.
    return "" if target is None or any(isinstance(node, ast.Call) for node in ast.walk(target)) else written(target)


def given_list(place: Location | None, op: str) -> str:
    """The list of tensors that an op of that name modifies, "" where the source does not show it."""
    node = expression(place.expression) if place is not None else None
    if not isinstance(node, ast.Call) or _called(node) != op or not node.args:
        return ""
    argument = node.args[0]
    return "" if any(isinstance(part, ast.Call) for part in ast.walk(argument)) else written(argument)


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def read_of(place: Location | None) -> str:
    """What ``.grad`` was read of: ``p["w"]`` of ``p["w"].grad``, "" where the source does not show it."""
    if place is None or not place.expression.endswith(".grad"):
        return ""
    attribute = expression(place.expression)
    if not isinstance(attribute, ast.Attribute) or any(isinstance(node, ast.Call) for node in ast.walk(attribute)):
        return ""
    return written(attribute.value)


def _modified(place: Location, node: ast.expr, op: str) -> ast.expr | None:
    if isinstance(node, ast.Subscript):
        return node.value if op == "__setitem__" else None
    if not isinstance(node, ast.Call):
        return None
    for keyword in node.keywords:
        if keyword.arg == "out":
            return keyword.value
    called = _called(node)
    if isinstance(node.func, ast.Attribute) and called == op and is_value(place, node.func.value):
        return node.func.value
    inplace = any(k.arg == "inplace" for k in node.keywords)
    # A list of tensors that is written there has no methods of a tensor.
    argument = node.args[0] if node.args and not isinstance(node.args[0], _SEVERAL) else None
    return argument if called == op or inplace else None
