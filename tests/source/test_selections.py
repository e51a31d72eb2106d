"""Where a function picks parameters by a condition."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source
from autograd_inspector.source.selections import Selections

TEXT = """
def groups(net):
    decay = [p for n, p in net.named_parameters() if p.dim() > 1]
    return [{"params": decay}, {"params": [p for p in net.parameters()]}]

def build(net):
    rest = filter(lambda p: p.requires_grad, net.parameters())
    return Adam(groups(net)), SGD(rest)

def other(net):
    return [p for p in net.parameters() if p.ndim]
"""


def test_conditions_near_the_optimizer():
    """Those of its function, and of the functions that its line calls."""
    selections = Source(ast.parse(TEXT)).index(Selections)
    assert selections.for_call(8) == [3, 7]
    assert selections.for_call(11) == [11]
    assert selections.for_call(1) == []


def test_lines_that_put_in_order():
    """What sorts, reverses or shuffles is told apart from what picks."""
    text = """
def build(net):
    own = [p for p in net.parameters() if p.ndim > 1]
    own = own[::-1]
    own.sort(key=len)
    return Adam(sorted(own), own[:-1])
"""
    selections = Source(ast.parse(text)).index(Selections)
    assert selections.orders_for_call(6) == [4, 5, 6]
    assert selections.for_call(6) == [3]
