"""What an expression of the program calls a method on, by its syntax."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from autograd_inspector.model.location import Location
from autograd_inspector.source.fragments import expression, is_path, statement
from autograd_inspector.source.writing import written


def called_on(place: Location | None, method: str) -> str:
    """The variable or attribute that the expression takes a method of: ``out.loss`` of ``out.loss.backward()``."""
    parsed = None if place is None else expression(place.expression)
    for node in () if parsed is None else ast.walk(parsed):
        if isinstance(node, ast.Attribute) and node.attr == method and is_path(node.value):
            return written(node.value)
    return ""


def first_argument(place: Location | None) -> str:
    """The variable that the call at a place is given first: ``loss`` of ``grad(loss, x)``; "" where that is none."""
    match expression(place.expression) if place is not None else None:
        case ast.Call(args=[ast.Name(name), *_]):
            return name
    return ""


def callee(place: Location | None) -> str:
    """The variable or attribute that the expression calls: ``self.teacher`` of ``self.teacher(x)``."""
    match None if place is None else expression(place.expression):
        case ast.Call(func=function) if is_path(function):
            return written(function)
    return ""


def reads(place: Location, name: str) -> bool:
    """Whether the expression reads a variable or an attribute of that name."""
    parsed = expression(place.expression)
    return parsed is not None and any(is_path(node) and written(node) == name for node in ast.walk(parsed))


def called_function(text: str) -> str:
    """The last name of the function that an expression calls, "" where it is no call."""
    match expression(text):
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name
    return ""


def flag_against(frames: Sequence[Location]) -> str:
    """The argument by which a library's functions were asked not to enter what the innermost line enters: ``sync_grads``.

    ``with nullcontext() if sync_grads else torch.no_grad():``, where each function hands the argument on by its name.
    """
    own = [frame for frame in frames if frame.library]
    parsed = [line for frame in own if (line := statement(frame.source)) is not None]
    if len(parsed) < max(len(own), 1):
        return ""
    handed = {word.arg for line in parsed[1:] for node in ast.walk(line) for word in _words(node)}
    for node in ast.walk(parsed[0]):
        match node:
            case ast.IfExp(test=ast.Name(name)) if name in handed:
                return name
    return ""


def _words(node: ast.AST) -> list[ast.keyword]:
    return node.keywords if isinstance(node, ast.Call) else []
