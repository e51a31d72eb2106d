"""What the head of a loop tells: over what it goes."""

from __future__ import annotations

import ast

from autograd_inspector.advice.spelling import is_path
from autograd_inspector.source.fragments import statement
from autograd_inspector.source.writing import written


def is_loop(source: str) -> bool:
    """Whether a line is the head of a loop."""
    return isinstance(statement(source), (ast.For, ast.AsyncFor))


def gone_over(source: str, name: str) -> str:
    """What a loop goes over: ``feats`` of ``for row, w in zip(feats, weights):`` for ``row``."""
    loop = statement(source)
    if not isinstance(loop, (ast.For, ast.AsyncFor)):
        return ""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and isinstance(target, ast.Tuple) and getattr(over.func, "id", "") == "zip":
        pairs = zip(target.elts, over.args, strict=False)
        over = next((iterable for part, iterable in pairs if written(part) == name), over)
    iterated = written(over)
    return iterated if is_path(iterated) else ""
