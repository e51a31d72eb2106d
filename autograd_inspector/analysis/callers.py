"""What an expression of the program calls a method on, by its syntax."""

from __future__ import annotations

import ast
from functools import lru_cache

from autograd_inspector.model.location import Location


@lru_cache(maxsize=256)
def expression(text: str) -> ast.expr | None:
    """The syntax tree of an expression; None where the text is none."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def called_on(place: Location | None, method: str) -> str:
    """The variable or attribute that the expression takes a method of: ``out.loss`` of ``out.loss.backward()``."""
    found = None if place is None else expression(place.expression)
    for node in () if found is None else ast.walk(found):
        if isinstance(node, ast.Attribute) and node.attr == method and is_path(node.value):
            return ast.unparse(node.value)
    return ""


def reads(place: Location, name: str) -> bool:
    """Whether the expression reads a variable or an attribute of that name."""
    found = expression(place.expression)
    return found is not None and any(is_path(node) and ast.unparse(node) == name for node in ast.walk(found))


def is_path(node: ast.AST) -> bool:
    """Whether it is a variable, or attributes of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
