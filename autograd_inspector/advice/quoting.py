"""Lines of the program as they are quoted within a sentence."""

from __future__ import annotations

import ast
import copy

from autograd_inspector.source.fragments import expression, statement, uncommented
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


def method_of(node: ast.expr, call: str) -> str:
    """``(torch.randn(3) * 0.1).clone()``: a call of a method of what an expression gives; "" where it has no text."""
    text = written(node)
    return text and f"{text if isinstance(node, _PRIMARY) else f'({text})'}.{call}"


_PRIMARY = (ast.Call, ast.Name, ast.Attribute, ast.Subscript)


def ending_in(source: str, computed: str, call: str, without: str = "") -> str:
    """``w = (torch.randn(3) * 0.1).requires_grad_()`` of an assignment: its value with the call of a method at the end.

    What ``computed`` gives is the value, or one of the items of which the line makes a list: then the call is at the
    end of the item. ``without``: a keyword argument that is left out; "" where the line is no assignment to one
    variable, or has none, or does not show which it is.
    """
    match copy.deepcopy(statement(source)):  # It is changed below.
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
            item = _item(value, computed)
            if item is None:
                return ""
            calls = [node for node in ast.walk(item) if isinstance(node, ast.Call)]
            left_out = [k for node in calls for k in node.keywords if k.arg == without]
            for node in calls:
                node.keywords = [k for k in node.keywords if k.arg != without]
            if without and not left_out:
                return ""
            name, text = written(target), _with(value, item, method_of(item, call))
            return f"{name} = {text}" if name and text else ""
    return ""


def _item(value: ast.expr, computed: str) -> ast.expr | None:
    """The innermost item of a list, or of whatever is made of several, that an expression is in; else the whole."""
    part = expression(computed)
    wanted = None if part is None else ast.dump(part)
    matching_items: list[ast.expr] = []
    left: list[tuple[ast.AST, ast.expr]] = [(value, value)]
    while left:
        node, item = left.pop()
        if type(node) is type(part) and ast.dump(node) == wanted:
            matching_items.append(item)
        inner = _items(node)
        left += [(child, next((i for i in inner if i is child), item)) for child in ast.iter_child_nodes(node)]
    whole = value if not _items(value) else None
    return matching_items[0] if len({id(item) for item in matching_items}) == 1 else whole


def _items(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.DictComp(value=elt):
            return [elt]
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items) | ast.Dict(values=items):
            return items
    return []


def _with(value: ast.expr, item: ast.expr, text: str) -> str:
    """An expression with another text in place of one part of it."""
    return text and written(_Replaced(item, ast.Name(text)).visit(value))


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else super().visit(node)
