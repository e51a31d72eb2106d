"""The syntax of what a place quotes: one expression, or one line that is a statement by itself."""

from __future__ import annotations

import ast
import io
import tokenize
from functools import lru_cache

_ROOM = 512


@lru_cache(maxsize=_ROOM)
def expression(text: str) -> ast.expr | None:
    """The expression; None where the text is none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=_ROOM)
def statement(text: str) -> ast.stmt | None:
    """The statement; None where the text is none, or several. The head of a loop counts with an empty block."""
    line = uncommented(text)
    try:
        statements = ast.parse(f"{line}\n    pass" if line.endswith(":") else line).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return statements[0] if len(statements) == 1 else None


def uncommented(source: str) -> str:
    """The line without the comment at its end, which tells a reader of the advice nothing."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                return source[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError):
        pass  # A line is not a program: what came before the comment has been read.
    return source.strip()


def is_path(node: ast.AST) -> bool:
    """Whether it is a variable, or attributes of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
