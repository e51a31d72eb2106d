"""Which line of a custom backward decides on each gradient that it returns."""

from __future__ import annotations

import ast

import pytest

from autograd_inspector.source.returned_gradients import computed_at

CASES = {
    "the last statement that computes it": ("def b(c, g):\n    x = g\n    x = x * 2\n    return x, 1\n", (3, 0)),
    "set to None alone": ("def b(c, g):\n    w = None\n    return g * 2, w\n", (0, 2)),
    "the condition around the only one": (
        "def b(c, g):\n    x = w = None\n    if c.a:\n        x = g\n    if c.b:\n        w = g\n    return x, w\n",
        (3, 5),
    ),
    "left out under a condition": (
        "def b(c, g):\n    if c.a:\n        return g, None\n    return g, g.sum()\n",
        (0, 2),
    ),
    "another number of values": (
        "def b(c, g):\n    if c.a:\n        return None, None, None\n    return g, g.sum()\n",
        (0, 0),
    ),
    "one value": ("def b(c, g):\n    if g:\n        return None\n    y = g\n    return y\n", (4,)),
    "no value": ("def b(c, g):\n    g * 2\n", ()),
    "several at once": ("def b(c, g):\n    x, y = g, g\n    y += 1\n    return x, y\n", (2, 3)),
}


@pytest.mark.parametrize("case", CASES)
def test_line_that_decides(case):
    """0 stands for a value that no variable has."""
    text, lines = CASES[case]
    (function,) = ast.parse(text).body
    assert computed_at(function) == lines
