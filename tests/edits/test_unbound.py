"""Which names a text reads where they may have no value."""

import ast

import pytest

from autograd_inspector.edits.program import Program
from autograd_inspector.edits.unbound import unbound_reads
from autograd_inspector.model.edit import Edit

BOUND = {
    "an argument": "def f(x, *more, key=1, **rest):\n    return x, more, key, rest",
    "both branches": "if True:\n    a = 1\nelse:\n    a = 2\nprint(a)",
    "a branch that leaves": "def f(x):\n    if x:\n        a = 1\n    else:\n        return\n    print(a)",
    "a loop": "for i in range(2):\n    a = i\nprint(i, a)",
    "a block": "with open('x') as f:\n    a = 1\nprint(f, a)",
    "an exception": "try:\n    a = 1\nexcept ValueError as error:\n    print(error)\nprint(a)",
    "a comprehension": "print([a for a in range(3) if a])",
    "a walrus": "if (a := 1) > 0:\n    print(a)",
    "a function defined before its name is bound": "def f():\n    return a\na = 1\nf()",
    "a lambda": "def f():\n    g = lambda x: x + a\n    a = 1\n    return g",
    "an import": "import torch.nn as nn, os.path\nprint(nn, os)",
    "a global": "def f():\n    global a\n    a = 1\ndef g():\n    return a",
    "a pattern": "match 1:\n    case int() as a:\n        print(a)",
    "a class": "class A:\n    x = 1\n    y = x\nprint(A)",
}
UNBOUND = {
    "later": ("print(a)\na = 1", ("", "a")),
    "nowhere": ("print(a)", ("", "a")),
    "one branch": ("def f(x):\n    if x:\n        a = 1\n    return a", (".f", "a")),
    "before its own statement": ("def f():\n    a = a.detach()\n    return a", (".f", "a")),
    "an augmented assignment": ("def f():\n    a += 1", (".f", "a")),
    "after it was deleted": ("a = 1\ndel a\nprint(a)", ("", "a")),
    "a comprehension's own": ("print([a for a in range(3)])\nprint(a)", ("", "a")),
    "later in the round": ("for i in range(2):\n    print(a)\n    a = i", ("", "a")),
    "a class's, in its method": ("class A:\n    x = 1\n    def f(self):\n        return x", (".A.f", "x")),
    "another function's": ("def f():\n    a = 1\ndef g():\n    return a", (".g", "a")),
}


@pytest.mark.parametrize("name", BOUND)
def test_a_name_that_has_a_value(name):
    """It is bound on each way that leads there."""
    assert unbound_reads(ast.parse(BOUND[name])) == set()


@pytest.mark.parametrize("name", UNBOUND)
def test_a_name_that_may_have_none(name):
    """It is named with the function that reads it."""
    text, read = UNBOUND[name]
    assert unbound_reads(ast.parse(text)) == {read}


def test_functions_that_are_not_looked_into():
    """What they bind in the module is known; what they read is not told."""
    tree = ast.parse("def f():\n    return a\nclass B:\n    x = y\nprint(f, B, z)")
    assert unbound_reads(tree) == {(".f", "a"), (".B", "y"), ("", "z")}
    assert unbound_reads(tree, tree.body[:1]) == {(".B", "y"), ("", "z")}
    assert unbound_reads(tree, tree.body[:2]) == {("", "z")}


@pytest.mark.parametrize(
    ("begin", "end", "text", "allowed"),
    [
        ((2, 11), (2, 12), "b", False),
        ((2, 11), (2, 12), "a", True),
        ((3, 0), (4, 0), "", False),
        ((5, 11), (5, 12), "c", False),
        ((5, 11), (5, 12), "f", True),
        ((3, 0), (3, 0), "d = a\n", False),
    ],
)
def test_what_an_edit_may_read(begin, end, text, allowed):
    """Neither where it stands nor, of a binding that goes, in a function that it does not touch."""
    program = Program("a.py", None, "def f():\n    return 1\na = 1\ndef g():\n    return a\nprint(f, g)\n")
    assert (program.obstacle((Edit("a.py", None, *begin, *end, text),)) is None) is allowed
