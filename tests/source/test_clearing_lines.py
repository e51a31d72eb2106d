"""Where a function clears gradients."""

import ast

from autograd_inspector.source.clearing_lines import ClearingLines
from autograd_inspector.source.index import Source

TEXT = """\
def step(model, opt, x):
    opt.zero_grad()
    loss = model(x)
    loss.backward()
    model.zero_grad(set_to_none=True)
    for p in model.parameters():
        p.grad = None
        p.data = None
    opt.zero_grad
    opt.step()

def other(p):
    p.grad = None
"""


def test_lines_between_two_others_of_one_function():
    """Calls of zero_grad and assignments of None to `.grad`; no other function's, none outside the two lines."""
    source = Source(ast.parse(TEXT))
    lines = source.index(ClearingLines)
    assert lines.within(source.scope_at(4), 4, 10) == [5, 7]
    assert lines.within(source.scope_at(4), 0, 99) == [2, 5, 7]
    assert lines.within(source.scope_at(13), 0, 99) == [13]
