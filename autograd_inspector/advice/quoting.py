"""Lines of the program as they are quoted within a sentence."""

from __future__ import annotations

import ast
import copy

from autograd_inspector.source.fragments import statement, uncommented
from autograd_inspector.source.writing import written

_AUGMENTED = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def in_place(source: str) -> str:
    """``w -= lr * g`` for a line that reads ``w = w - lr * g``; "" for a line of any other form."""
    match statement(source):
        case ast.Assign(targets=[target], value=ast.BinOp(left=left, op=op, right=right)) if type(op) in _AUGMENTED:
            name, value = written(target), written(right)
            if name and value and name == written(left):
                return f"{name} {_AUGMENTED[type(op)]} {value}"
    return ""


def written_out(source: str) -> str:
    """What to write instead of a line that reads ``w -= lr * g``; "" for any other, and for one through ``.data``."""
    line = uncommented(source)
    match statement(source):
        case ast.AugAssign(target=target, op=op, value=value) if not _goes_through_data(target):
            name, result = written(target), written(ast.BinOp(target, op, value))
            return f"Write `{name} = {result}` instead of `{line}`." if name and result else ""
    return ""


def _goes_through_data(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "data" for part in ast.walk(node))


def ending_in(source: str, call: str, without: str = "") -> str:
    """``w = (torch.randn(3) * 0.1).requires_grad_()`` of an assignment: its value with a call at the end.

    ``without``: a keyword argument that is left out; "" where the line is no assignment to one variable, or has none.
    """
    match copy.deepcopy(statement(source)):  # It is changed below.
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            given = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
            found = [k for node in given for k in node.keywords if k.arg == without]
            for node in given:
                node.keywords = [k for k in node.keywords if k.arg != without]
            if without and not found:
                return ""
            name, text = written(target), written(value)
            whole = isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
            return f"{name} = {text if whole else f'({text})'}{call}" if name and text else ""
    return ""
