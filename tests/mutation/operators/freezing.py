"""What should learn is frozen, what should not learns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import PARTIAL, Kind

from .constructing import owners, parameters


def _frozen(name: str, *, behind: bool) -> Kind:
    """All that an optimizer has; a part of it may be frozen for good reasons."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        whole = {id(call.func.value) for made, call in parameters(anatomy) if made.args[0] is call}  # type: ignore[attr-defined]
        for statement, module in owners(anatomy):
            if id(module) not in whole:
                continue
            line = f"{anatomy.source(module)}.requires_grad_(False)"
            yield anatomy.after(statement, line) if behind else anatomy.before(statement, line)

    return Kind(name, plant)


def _thawed(anatomy: Anatomy) -> Iterator[Planted]:
    for call in anatomy.calls("requires_grad_"):
        match call.args:
            case [ast.Constant(value=False) as flag]:
                yield anatomy.replaced(flag, "True")
    for statement in anatomy.of(ast.Assign):
        match statement:
            case ast.Assign(targets=[ast.Attribute(attr="requires_grad")], value=ast.Constant(value=False) as flag):
                yield anatomy.replaced(flag, "True")


def _never_asked(anatomy: Anatomy) -> Iterator[Planted]:
    """`requires_grad_()` or `requires_grad=True` missing."""
    for call in anatomy.calls("requires_grad_", "tensor"):
        if not call.args and isinstance(call.func, ast.Attribute):
            yield anatomy.replaced(call, anatomy.source(call.func.value))
    for call in anatomy.of(ast.Call):
        for keyword in call.keywords:
            if keyword.arg == "requires_grad" and isinstance(keyword.value, ast.Constant) and keyword.value.value:
                yield anatomy.replaced(keyword.value, "False")


KINDS = (
    _frozen("frozen before the optimizer", behind=False),
    _frozen("frozen behind the optimizer", behind=True),
    Kind("not frozen", _thawed, minor=PARTIAL),
    Kind("no grad asked for", _never_asked),
)
