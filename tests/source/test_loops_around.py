"""Which loop a line is in the body of."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source
from autograd_inspector.source.loops_around import LoopsAround

TEXT = """\
for epoch in epochs:
    for e, p in zip(
        ema, net,
    ):
        e.lerp_(p, 0.1)
    step()
for a in b: a.zero_()

def update():
    done()
    for a in b:
        def inner():
            a.zero_()
"""


def test_innermost_loop_of_the_same_function():
    """Its head, not of what it goes over; a function that is defined in a loop does not run in it."""
    loops = LoopsAround(Source(ast.parse(TEXT)))
    assert [loops.head(line) for line in (1, 3, 5, 6, 7, 10, 13)] == [0, 1, 2, 1, 0, 0, 0]
