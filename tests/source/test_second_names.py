"""Names that a file gives a second time."""

import ast

import pytest

from autograd_inspector.source.index import Source
from autograd_inspector.source.operand_names import assigned_names, operand_names, written_name
from autograd_inspector.source.second_names import SecondNames


def names(text):
    tree = ast.parse(text)
    return [found[1:4] for found in Source(tree).index(SecondNames).within(tree)]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("old = new", [("old", "new", True)]),
        ("m = v = zeros(3)", [("v", "m", False)]),
        ("a, b = x, y", [("a", "x", False), ("b", "y", False)]),
        ("a, b = b, a", []),
        ("old = new.clone()", []),
        ("self.old = new", []),
        ("old = self.new", []),
        ("old: object = new", [("old", "new", True)]),
        ("f(old := new)", [("old", "new", False)]),
        ("b['y'] = b['x']", [("b['y']", "b['x']", True)]),
        ("y = b['x']", []),
    ],
)
def test_which_statements_give_a_second_name(text, pairs):
    """One variable assigned to another, or one value to several; not attributes, and not a swap."""
    assert names(text) == pairs


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("old = new if first else before", [("old", "new"), ("old", "before")]),
        ("old = before or new", [("old", "before"), ("old", "new")]),
        ("old = new.detach() if first else before['y']", []),
        ("old = a if p else (b if q else f(c))", [("old", "a"), ("old", "b")]),
    ],
)
def test_names_that_stand_for_one_of_several(text, pairs):
    """A conditional expression and ``or`` give a second name to what is chosen, which the text does not tell."""
    tree = ast.parse(text)
    found = Source(tree).index(SecondNames).within(tree)
    assert [(each.name, each.of) for each in found if each.chosen] == pairs
    assert all(each.chosen and not each.alone for each in found)


def test_names_are_told_by_function():
    """A statement belongs to the innermost function around it."""
    tree = ast.parse("def outer(x):\n    def inner(y):\n        z = y\n    w = x\n")
    outer, inner = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    index = Source(tree).index(SecondNames)
    assert [[found.name for found in index.within(scope)] for scope in (tree, outer, inner)] == [[], ["w"], ["z"]]


@pytest.mark.parametrize(
    ("text", "op", "operands"),
    [
        ("a + b", "add", {"a", "b"}),
        ("a.add(b)", "add", {"a", "b"}),
        ("self.net(h, mask=m)", "linear", {"h", "m"}),
        ("stack([a, b])", "stack", {"a", "b"}),
        ("a[index.sum()]", "__getitem__", {"a"}),
        ("-a", "neg", {"a"}),
        ("a + b.sin()", "add", {"a"}),
        ("(", "add", set()),
    ],
)
def test_operands_that_are_variables(text, op, operands):
    """What the operator or the call is given as it is, and not what its parts are computed from."""
    assert operand_names(text, op) == operands


@pytest.mark.parametrize(
    ("text", "name"),
    [("x += y", "x"), ("x.mul_(2).add_(y)", "x"), ("x[0]", "x"), ("x.data[0].add_(1)", "x"), ("f(x)", "f"), ("(", "")],
)
def test_the_variable_that_a_write_goes_to(text, name):
    """The one that the chain of calls, attributes and items begins with."""
    assert written_name(text) == name


def test_the_variables_of_a_tuple():
    """Attributes are none."""
    assert assigned_names("(a, b.c, d)") == ("a", "d")
    assert assigned_names("a") == ("a",)
    assert assigned_names("") == ()
