"""Lines of the program as they are quoted within a sentence."""

from __future__ import annotations

import ast
import io
import tokenize

_AUGMENTED = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}


def uncommented(source: str) -> str:
    """The line without the comment at its end, which tells a reader of the advice nothing."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                return source[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError):
        pass  # A line is not a program: what came before the comment has been read.
    return source.strip()


def in_place(source: str) -> str:
    """``w -= lr * g`` for a line that reads ``w = w - lr * g``; "" for a line of any other form."""
    try:
        body = ast.parse(uncommented(source)).body
    except (SyntaxError, ValueError):
        return ""
    match body:
        case [ast.Assign(targets=[target], value=ast.BinOp(left=left, op=op, right=right))] if type(
            op
        ) in _AUGMENTED and ast.unparse(target) == ast.unparse(left):
            return f"{ast.unparse(target)} {_AUGMENTED[type(op)]} {ast.unparse(right)}"
    return ""


def written_out(source: str) -> str:
    """What to write instead of a line that reads ``w -= lr * g``; "" for any other, and for one through ``.data``."""
    line = uncommented(source)
    try:
        body = ast.parse(line).body
    except (SyntaxError, ValueError):
        return ""
    match body:
        case [ast.AugAssign(target=target, op=op, value=value)] if not _goes_through_data(target):
            return f"Write `{ast.unparse(target)} = {ast.unparse(ast.BinOp(target, op, value))}` instead of `{line}`."
    return ""


def _goes_through_data(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr == "data" for part in ast.walk(node))


def ending_in(source: str, call: str, without: str = "") -> str:
    """``w = (torch.randn(3) * 0.1).requires_grad_()`` of an assignment: its value with a call at the end.

    ``without``: a keyword argument that is left out; "" where the line is no assignment to one variable, or has none.
    """
    try:
        body = ast.parse(uncommented(source)).body
    except (SyntaxError, ValueError):
        return ""
    match body:
        case [ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value)]:
            given = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
            found = [k for node in given for k in node.keywords if k.arg == without]
            for node in given:
                node.keywords = [k for k in node.keywords if k.arg != without]
            if without and not found:
                return ""
            text = ast.unparse(value)
            whole = isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript))
            return f"{ast.unparse(target)} = {text if whole else f'({text})'}{call}"
    return ""
