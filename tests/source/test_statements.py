"""What the statement around an expression assigns."""

from __future__ import annotations

import ast

import pytest

from autograd_inspector.source.index import Source, span_of
from autograd_inspector.source.statements import Statements


def assigned(code: str) -> str:
    """What is assigned where `value()` stands."""
    source = Source(ast.parse(code))
    [call] = [n for n in source.nodes if isinstance(n, ast.Call) and ast.unparse(n) == "value()"]
    return Statements(source).assigned(span_of(call))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("loss = 0.5 * value()", "loss"),
        ("self.loss: float = value()", "self.loss"),
        ("total += value()", "total"),
        ("loss = (\n    0.5\n    * value()\n)", "loss"),
        ("(loss := 0.5 * value())", "loss"),
        ("if (loss := 0.5 * value()) > 1:\n    pass", "loss"),
        ("mean = (total := value()) / 2", "total"),
        ("(first := (second := value()))", "second"),
        ("first = (second := 1) + value()", "first"),
        ("first, second = value(), 1", ""),
        ("print(value())", ""),
    ],
)
def test_the_nearest_name_that_is_bound(code, name):
    """An assignment, or what binds a name inside a statement; none where several are, or nothing is assigned."""
    assert assigned(code) == name
