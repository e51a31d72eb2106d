"""Where gradients flow: what the operators that cut, write or sample have in common."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import PARTIAL, Kind


def values(anatomy: Anatomy) -> Iterator[ast.expr]:
    """The differentiable results that are assigned, returned, given to a call or computed with."""
    for node, fact in anatomy.evaluated():
        parent = anatomy.parent(node)
        used = isinstance(parent, ast.Assign | ast.Return | ast.AugAssign | ast.BinOp) or (
            isinstance(parent, ast.Call) and node in parent.args
        )
        if used and fact.kind == "tensor" and fact.differentiable and fact.floating and not fact.leaf:
            yield node


def reached(anatomy: Anatomy) -> Iterator[ast.expr]:
    """Those of them that some backward brings a gradient."""
    return (node for node in values(anatomy) if anatomy.fact(node).arrives)


def assigned(anatomy: Anatomy) -> Iterator[tuple[ast.Assign, str]]:
    """The statements that give a differentiable result a name, and the name."""
    for node in values(anatomy):
        statement = anatomy.parent(node)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            if isinstance(target, ast.Name):
                yield statement, target.id


def replacing(
    name: str,
    template: str,
    *,
    scalar: bool = False,
    dims: int = 0,
    values_read: bool = False,
    sound: frozenset[str] = frozenset(),
) -> Kind:
    """A kind that puts a template in the place of a differentiable result."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for node in reached(anatomy):
            fact = anatomy.fact(node)
            if fact.dtype == "float32" and fact.dim >= dims and (fact.scalar or not scalar):
                yield anatomy.replaced(node, template)

    return Kind(name, plant, values=values_read, minor=PARTIAL - sound, sound=sound)
