"""Where optimizers are made, and of what: common to the operators that make one of something else."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy


def constructions(anatomy: Anatomy) -> Iterator[ast.Call]:
    """The calls that make an optimizer of parameters that are given there."""
    for node, fact in anatomy.evaluated():
        if isinstance(node, ast.Call) and fact.kind == "optimizer" and node.args:
            yield node


def parameters(anatomy: Anatomy) -> Iterator[tuple[ast.Call, ast.Call]]:
    """The `module.parameters()` that an optimizer is made of, with the construction."""
    for made in constructions(anatomy):
        for node in ast.walk(made.args[0]):
            if _is_parameters(node) and anatomy.fact(node.func.value).own:  # type: ignore[attr-defined]
                yield made, node  # type: ignore[misc]


def owners(anatomy: Anatomy) -> Iterator[tuple[ast.stmt, ast.expr]]:
    """The statements that bind an optimizer by a name, each with a module whose parameters it is made of."""
    for made, call in parameters(anatomy):
        statement = anatomy.parent(made)
        assert isinstance(call.func, ast.Attribute)
        if isinstance(statement, ast.Assign) and isinstance(call.func.value, ast.Name | ast.Attribute):
            yield statement, call.func.value


def bound(anatomy: Anatomy) -> Iterator[tuple[ast.Assign, str]]:
    """The statements that make an optimizer, with what it is called."""
    for made in constructions(anatomy):
        statement = anatomy.parent(made)
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name | ast.Attribute):
            yield statement, anatomy.source(statement.targets[0])


def _is_parameters(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "parameters"


def together(anatomy: Anatomy, one: ast.AST, other: ast.AST) -> bool:
    """Whether both are in one function, so that a name of the one means the same to the other."""
    return next(anatomy.around(one, ast.FunctionDef), None) is next(anatomy.around(other, ast.FunctionDef), None)
