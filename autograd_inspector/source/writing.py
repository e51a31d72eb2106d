"""Syntax -> text: what an expression of the program reads like on one line."""

from __future__ import annotations

import ast


def written(node: ast.AST) -> str:
    """The text of an expression or a statement; "" where Python cannot write what it could read.

    It refuses a backslash inside an f-string's expression (before Python 3.12), and an integer of some thousand digits.
    """
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError, MemoryError):
        return ""
