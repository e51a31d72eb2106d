"""Statements that give a variable's value another name: ``old = new``, ``m = v = torch.zeros(3)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from autograd_inspector.source.index import Source


class SecondName(NamedTuple):
    """From that line on ``name`` is what ``of`` is; ``alone``: the statement assigns nothing else."""

    line: int
    name: str
    of: str
    alone: bool


class SecondNames:
    """Those of a file, by the function that they stand in."""

    def __init__(self, source: Source) -> None:
        self._by_scope: dict[ast.AST, list[SecondName]] = {}
        for node in source.nodes:
            if isinstance(node, ast.Assign):
                for name, of in _given(node):
                    names = self._by_scope.setdefault(source.scope_at(node.lineno), [])
                    alone = len(node.targets) == 1 and isinstance(node.value, ast.Name)
                    names.append(SecondName(node.lineno, name, of, alone))

    def within(self, scope: ast.AST) -> list[SecondName]:
        """The statements of one function, or of the module."""
        return self._by_scope.get(scope, [])


def _given(node: ast.Assign) -> Iterator[tuple[str, str]]:
    targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node.value, ast.Name):
        yield from ((target, node.value.id) for target in targets if target != node.value.id)
    else:
        yield from ((other, targets[0]) for other in targets[1:])
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            stored = {part.id for part in target.elts if isinstance(part, ast.Name)}
            for part, value in zip(target.elts, node.value.elts, strict=False):
                # In ``a, b = b, a`` each name stands for something else afterwards.
                if isinstance(part, ast.Name) and isinstance(value, ast.Name) and value.id not in stored:
                    yield part.id, value.id
