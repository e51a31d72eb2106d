"""Graphs that are kept, and graphs that go on where they should end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.mutation.anatomy import Anatomy, Planted
from tests.mutation.kinds import ANY, PARTIAL, Kind

from .flowing import assigned


def _item_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    """`total += loss.item()` becomes `total += loss`."""
    for call in anatomy.calls("item", "tensor"):
        assert isinstance(call.func, ast.Attribute)
        if anatomy.fact(call.func.value).differentiable:
            yield anatomy.replaced(call, anatomy.source(call.func.value))


def _kept(name: str, first: str, each: str) -> Kind:
    """A result of every round is kept by what lives before the loop."""

    def plant(anatomy: Anatomy) -> Iterator[Planted]:
        for statement, value in assigned(anatomy):
            around = list(anatomy.around(statement, ast.For, ast.While, ast.FunctionDef))
            own = next((number for number, each in enumerate(around) if isinstance(each, ast.FunctionDef)), len(around))
            loops = around[:own]  # A name that a closure binds is another one than that of the loop outside.
            if loops and anatomy.fact(statement.value).times > 1:
                place = loops[-1].lineno - 1
                inner = anatomy.after(statement, each.replace("{}", value))
                row = anatomy.before(loops[-1], first).rows[place]._replace(planted=False)
                yield Planted(place + 1, (*inner.rows[:place], row, *inner.rows[place:]))

    return Kind(name, plant, minor=ANY)


def _detach_dropped(anatomy: Anatomy) -> Iterator[Planted]:
    for call in anatomy.calls("detach", "tensor"):
        assert isinstance(call.func, ast.Attribute)
        if anatomy.fact(call.func.value).differentiable:
            yield anatomy.replaced(call, anatomy.source(call.func.value))


KINDS = (
    Kind("item dropped", _item_dropped, minor=ANY),
    _kept("results in a list", "kept_results = []", "kept_results.append({})"),
    _kept("results summed", "summed_result = 0.0", "summed_result = summed_result + {}.sum()"),
    Kind("detach dropped", _detach_dropped, minor=PARTIAL),
)
