"""Statements that put together what an optimizer is given under a name."""

from __future__ import annotations

import ast

import pytest

from autograd_inspector.source.collected import Collected
from autograd_inspector.source.index import Source, span_of


def found(text, name="own"):
    """(line, conditional) of the statements, and the names in the call of ``Adam``."""
    source = Source(ast.parse(text))
    (call,) = (n for n in source.nodes if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "Adam")
    index = source.index(Collected)
    return [tuple(each) for each in index.before(span_of(call), name)], index.names(span_of(call))


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ("Adam(own, lr=1)", ["own"]),
        ("Adam(lr=1, params=own)", ["own"]),
        ("Adam({'params': own})", ["own"]),
        ("Adam([{'params': a, 'lr': 1}, {'params': b}])", ["a", "b"]),
        ("Adam(net.parameters())", []),
        ("Adam([a, b])", []),
    ],
)
def test_names_of_what_is_given(call, names):
    """A plain name, also as the parameters of a group; tensors that are listed one by one are no list by name."""
    assert found(call)[1] == names


def test_bound_and_added_to():
    """The binding, and what adds to it afterwards; under a condition it is told as such."""
    text = """
def build(net):
    own = []
    for p in net:
        own.append(p)
        if p.big:
            own.append(p.other)
    own += [net.last]
    return Adam(own)
"""
    assert found(text)[0] == [(3, False), (5, False), (7, True), (8, False)]


def test_what_no_longer_counts():
    """An earlier list under the name, one of the other branch, of another function, and what comes afterwards."""
    text = """
def build(net, kind):
    own = list(net.first)
    if kind:
        own = list(net.second)
        optimizer = Adam(own)
        own = []
    else:
        own = list(net.third)
    return optimizer

def other(net):
    own = list(net)
"""
    assert found(text)[0] == [(5, False)]


def test_a_list_made_of_itself():
    """What filters or sorts the list under the same name leaves what bound it before."""
    text = """
def build(net):
    own = list(net)
    own = [p for p in own if p.ndim]
    return Adam(own)
"""
    assert found(text)[0] == [(3, False), (4, False)]
