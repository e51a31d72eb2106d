"""Modules and parameters that nobody registers, or that are registered twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import Kind


def _plain(anatomy: Anatomy) -> Iterator[Planted]:
    for name, plain in (("ModuleList", "list"), ("ModuleDict", "dict"), ("ParameterList", "list")):
        for call in anatomy.calls(name):
            yield anatomy.replaced(call.func, plain)


def _bare(anatomy: Anatomy) -> Iterator[Planted]:
    """`nn.Parameter(x)` becomes a tensor that requires grad."""
    for call in anatomy.calls("Parameter"):
        if len(call.args) == 1 and not call.keywords and isinstance(anatomy.parent(call), ast.Assign):
            yield anatomy.replaced(call, f"({anatomy.source(call.args[0])}).requires_grad_()")


def _untied(anatomy: Anatomy) -> Iterator[Planted]:
    """`self.head.weight = self.embedding.weight`: the tensor is shared, the parameter is not."""
    for statement in anatomy.of(ast.Assign):
        target = statement.targets[0]
        fact = anatomy.fact(statement.value)
        if isinstance(target, ast.Attribute) and isinstance(statement.value, ast.Attribute) and fact.parameter:
            yield anatomy.replaced(statement.value, "torch.nn.Parameter({}.data)")


KINDS = (
    Kind("plain list", _plain),
    Kind("bare parameter", _bare),
    Kind("tied by data", _untied),
)
