"""Where a custom Function's backward computes each of the gradients that it returns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograd_inspector.source.index import Function

_Assigning = ast.Assign | ast.AugAssign


def computed_at(function: Function) -> tuple[int, ...]:
    """For each value of the last return statement the line that decides on it.

    The condition around the only statement that computes it, else the last such statement, else where it is None. Where
    no variable has it, the condition under which an earlier statement returns None in its place; 0 where none does.
    """
    returns = [node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    last = max(returns, key=lambda node: node.lineno, default=None)
    if last is None or last.value is None:
        return ()
    value = _tuple(function, last.value.id) or last.value if isinstance(last.value, ast.Name) else last.value
    values = value.elts if isinstance(value, ast.Tuple) else [value]
    early = [pair for pair in _returning_early(function, 0) if pair[0] != values and len(pair[0]) == len(values)]
    return tuple(
        _line(function, value.id) if isinstance(value, ast.Name) else _left_out(early, place)
        for place, value in enumerate(values)
    )


def _returning_early(around: ast.AST, condition: int) -> Iterator[tuple[list[ast.expr], int]]:
    """(the values that a statement under a condition returns, the line of that condition)."""
    for node in ast.iter_child_nodes(around):
        if isinstance(node, ast.Return) and node.value is not None and condition:
            yield node.value.elts if isinstance(node.value, ast.Tuple) else [node.value], condition
        yield from _returning_early(node, node.lineno if isinstance(node, ast.If) else condition)


def _left_out(early: list[tuple[list[ast.expr], int]], place: int) -> int:
    """The condition under which None is returned in that place; 0: none."""
    return next((line for values, line in early if _none(values[place])), 0)


def _tuple(function: Function, name: str) -> ast.Tuple | None:
    """The values that the function assigned together to the variable that it returns."""
    found = [node.value for node, _ in _set(function, name, 0) if isinstance(node.value, ast.Tuple)]
    return max(found, key=lambda value: value.lineno, default=None)


def _line(function: Function, name: str) -> int:
    """The line for a variable; 0: none."""
    found = sorted(_set(function, name, 0), key=lambda pair: pair[0].lineno)
    computed = [pair for pair in found if not _is_none(pair[0])]
    if len(computed) == 1 and computed[0][1]:
        return computed[0][1]
    return next((node.lineno for node, _ in reversed(computed or found)), 0)


def _set(around: ast.AST, name: str, condition: int) -> Iterator[tuple[_Assigning, int]]:
    """(what assigns a variable, the line of the ``if`` around it, 0 for none)."""
    for node in ast.iter_child_nodes(around):
        if isinstance(node, _Assigning) and name in _targets(node):
            yield node, condition
        yield from _set(node, name, node.lineno if isinstance(node, ast.If) else condition)


def _targets(node: _Assigning) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    parts = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return [part.id for part in parts if isinstance(part, ast.Name)]


def _is_none(node: _Assigning) -> bool:
    return _none(node.value)


def _none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
