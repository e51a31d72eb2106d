"""What should learn is frozen, what should not learns."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import PARTIAL, Kind

from .constructing import owners, parameters, together


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


def _frozen_by_a_round(anatomy: Anatomy) -> Iterator[Planted]:
    """All that an optimizer has is frozen behind its step, and never thawed for the next round."""
    whole = {id(call.func.value) for made, call in parameters(anatomy) if made.args[0] is call}  # type: ignore[attr-defined]
    made = {
        anatomy.source(statement.targets[0]): (statement, module)  # type: ignore[attr-defined]
        for statement, module in owners(anatomy)
        if id(module) in whole
    }
    for call in anatomy.calls("step", "optimizer"):
        assert isinstance(call.func, ast.Attribute)
        found, statement = made.get(anatomy.source(call.func.value)), anatomy.alone(call)
        if found is None or statement is None or anatomy.fact(call).times < 2:
            continue
        if together(anatomy, found[0], statement):
            yield anatomy.after(statement, f"{anatomy.source(found[1])}.requires_grad_(False)")


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
    Kind("frozen by the first round", _frozen_by_a_round),
    Kind("not frozen", _thawed, minor=PARTIAL),
    Kind("no grad asked for", _never_asked),
)
