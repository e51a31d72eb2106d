"""Loops over named parameters that freeze those whose name passes a test: ``if name.startswith("encoder"):``."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autograd_inspector.source.index import Source
from autograd_inspector.source.writing import written

_PLACED = (ast.Assign, ast.Call)
_LISTS = {"named_parameters", "named_modules", "named_children"}


class FreezingLoop(NamedTuple):
    """``freezing``: the lines of the statements that freeze, where ``test`` (on line ``line``) holds.

    ``after`` and ``until``: who is seen between these lines, in the scope of the loop, has the loop behind it.
    """

    line: int
    test: str
    words: tuple[str, ...]
    freezing: tuple[int, ...]
    after: int
    until: int


class FreezingLoops:
    """Those of a file that stand in the body of a function, or of the module, and are followed by something there."""

    def __init__(self, source: Source) -> None:
        bodies: list[Sequence[ast.stmt]] = [source.tree.body, *(function.body for function in source.functions)]
        self.loops = [loop for body in bodies for loop in _loops(body)]


def _loops(body: Sequence[ast.stmt]) -> Iterator[FreezingLoop]:
    last = body[-1].end_lineno or body[-1].lineno if body else 0
    for statement in body:
        end = statement.end_lineno or statement.lineno
        if not isinstance(statement, ast.For) or statement is body[-1] or not _over_names(statement.iter):
            continue
        for test in statement.body:
            if isinstance(test, ast.If):
                words = tuple(
                    node.value
                    for node in ast.walk(test.test)
                    if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value
                )
                inside = (node for each in test.body for node in ast.walk(each))
                freezing = tuple(node.lineno for node in inside if isinstance(node, _PLACED) and _freezes(node))
                if words and freezing:
                    yield FreezingLoop(test.lineno, written(test.test), words, freezing, end + 1, last)


def _over_names(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LISTS


def _freezes(node: ast.AST) -> bool:
    """Whether it is ``x.requires_grad = False`` or ``x.requires_grad_(False)``."""
    if isinstance(node, ast.Assign):
        value = node.value
        targets = any(isinstance(target, ast.Attribute) and target.attr == "requires_grad" for target in node.targets)
        return targets and isinstance(value, ast.Constant) and value.value is False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        return any(isinstance(value, ast.Constant) and value.value is False for value in given)
    return False
