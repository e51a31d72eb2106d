"""Statements that give a variable's value another name: ``old = new``, ``m = v = torch.zeros(3)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from autograd_inspector.source.index import Source
from autograd_inspector.source.operand_names import variable


class SecondName(NamedTuple):
    """From that line on ``name`` is what ``of`` is; ``alone``: the statement assigns nothing else.

    ``chosen``: it may be something else, as in ``old = new if first else before``.
    """

    line: int
    name: str
    of: str
    alone: bool
    chosen: bool = False


class SecondNames:
    """Those of a file, by the function that they stand in."""

    def __init__(self, source: Source) -> None:
        self._by_scope: dict[ast.AST, list[SecondName]] = {}
        for node in source.nodes:
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
                names = self._by_scope.setdefault(source.scope_at(node.lineno), [])
                names += (SecondName(node.lineno, name, of, _is_alone(node)) for name, of in _given(node))
                names += (SecondName(node.lineno, *pair, alone=False, chosen=True) for pair in _chosen(node))

    def within(self, scope: ast.AST) -> list[SecondName]:
        """The statements of one function, or of the module."""
        return self._by_scope.get(scope, [])


def _is_alone(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> bool:
    match node:
        case ast.Assign(targets=[_]) | ast.AnnAssign():
            return variable(node.value) != ""
    return False


def _given(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[tuple[str, str]]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [name for target in targets if (name := variable(target))]
    of = variable(node.value)
    if of:
        yield from ((name, of) for name in names if name != of and _alike(name, of))
    else:
        yield from ((other, names[0]) for other in names[1:] if _alike(other, names[0]))
    for target in targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            stored = {variable(part) for part in target.elts}
            for part, value in zip(target.elts, node.value.elts, strict=False):
                name, of = variable(part), variable(value)
                # In ``a, b = b, a`` each name stands for something else afterwards.
                if name and of and of not in stored and _alike(name, of):
                    yield name, of


def _chosen(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[tuple[str, str]]:
    """The name of a conditional expression, or of ``a or b``, with each variable that it may stand for."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [name for target in targets if (name := variable(target))]
    for of in dict.fromkeys(_choices(node.value) if isinstance(node.value, (ast.IfExp, ast.BoolOp)) else ()):
        yield from ((name, of) for name in names if name != of and _alike(name, of))


def _choices(value: ast.expr) -> Iterator[str]:
    match value:
        case ast.IfExp(body=one, orelse=other):
            yield from (*_choices(one), *_choices(other))
        case ast.BoolOp(values=values):
            for part in values:
                yield from _choices(part)
        case _ if of := variable(value):
            yield of


def _alike(name: str, of: str) -> bool:
    """Whether both are variables, or entries of one dictionary: one that a variable stands for is shared on purpose."""
    return name.partition("[")[0] == of.partition("[")[0] if "[" in name + of else True
