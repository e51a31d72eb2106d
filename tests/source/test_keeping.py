"""Where a file puts a variable away: each function is read once, whoever calls it."""

import ast
import textwrap

import pytest

from autograd_inspector.source import keeping
from autograd_inspector.source.index import Source
from autograd_inspector.source.keeping import Keeping
from tests.growth.counting import lines


def kept(text, line, *names):
    found = Source(ast.parse(textwrap.dedent(text)))
    return found.index(Keeping).kept_at(found.scope_at(line), names)


CASES = {
    "a list": ("def f():\n    x = g()\n    xs.append(x)\n", 3),
    "a part of a sum": ("def f():\n    x = g()\n    xs += [x]\n", 3),
    "an attribute": ("def f(self):\n    x = g()\n    self.last = {'x': x}\n", 3),
    "a number only": ("def f():\n    x = g()\n    xs.append(x.item())\n", 0),
    "a loop over it": ("def f():\n    x = g()\n    for v in x.values():\n        xs.append(v)\n", 4),
    "a helper": ("def f():\n    x = g()\n    keep(x)\n\ndef keep(y):\n    ys.append(y)\n", 6),
    "a method, by keyword": ("def f(s):\n    x = g()\n    s.keep(v=x)\n\ndef keep(self, *, v):\n    ys.add(v)\n", 6),
    "a helper's helper": (
        "def f():\n    x = g()\n    a(x)\ndef a(x):\n    b(x)\ndef b(x):\n    c(x)\ndef c(x):\n    xs.append(x)\n",
        9,
    ),
    "a helper too deep": (
        "def f(x):\n    x = g()\n    a(x)\ndef a(x): b(x)\ndef b(x): c(x)\ndef c(x): d(x)\ndef d(x): xs.append(x)\n",
        0,
    ),
    "the second of that name": (
        "def f():\n    x = g()\n    k(x)\nclass A:\n    def k(self, y): y\nclass B:\n    def k(self, y): z.add(y)\n",
        7,
    ),
    "itself, called again": ("def f(y=None):\n    x = g()\n    f(x)\n    ys.append(y)\n", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_what_keeps_a_variable(name):
    """The line in the function itself, or in a helper of the file that is given it."""
    text, line = CASES[name]
    assert kept(text, 2, "x") == line


PARTS = {
    "an attribute": ("def f(self):\n    self.loss = g()\n    xs.append(self.loss)\n", "self.loss", 3),
    "an item": ("def f(out):\n    out['loss'] = g()\n    xs.append(out['loss'])\n", "out['loss']", 3),
    "another attribute": ("def f(self):\n    self.loss = g()\n    xs.append(self.logits)\n", "self.loss", 0),
    "a number of it": ("def f(self):\n    self.loss = g()\n    xs.append(self.loss.item())\n", "self.loss", 0),
    "no expression": ("def f(self):\n    self.loss = g()\n    xs.append(self.loss)\n", "self.", 0),
    "a variable": ("def f():\n    x = g()\n    xs.append(x)\n", "x", 0),
}


@pytest.mark.parametrize("name", PARTS)
def test_what_keeps_a_part_that_is_assigned(name):
    """An attribute or an item with a constant key, by how it is written; a variable is no part of another."""
    text, path, line = PARTS[name]
    found = Source(ast.parse(text))
    assert found.index(Keeping).part_kept_at(found.scope_at(2), [path]) == line


def test_a_hook_that_keeps_what_it_is_given():
    """Registered by its name, as a method, made by another function, or as a lambda."""
    made = "def make(name):\n    def hook(m, i, o):\n        outs[name] = o\n    return hook\n"
    made += "net.register_forward_hook(make('a'))\n"
    named = "def hook(m, i, o):\n    outs.append(o)\n\nnet.register_forward_hook(hook)\n"
    plain = "net.register_forward_hook(lambda m, i, o: outs.append(o))\n"
    idle = "net.register_forward_hook(lambda m, i, o: print(o))\n"
    found = [Source(ast.parse(text)).index(Keeping).hooked for text in (made, named, plain, idle)]
    assert found == [3, 2, 1, 0]


def test_a_display_names_what_gets_its_parts():
    """``losses = {"a": f(x)}``: `f(x)` goes into `losses`."""
    found = Source(ast.parse("losses = {'a': f(x), 'b': [g(x)]}\n"))
    spans = [
        (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        for node in found.nodes
        if isinstance(node, ast.Call)
    ]
    assert [found.index(Keeping).collected(span) for span in spans] == [{"losses"}, {"losses"}]
    assert found.index(Keeping).collected((1, 1, 0, 6)) == set()


def same_named(count):
    """Classes whose methods have the same names and call each other with what they are given."""
    methods = "".join(
        f"class C{n}:\n    def forward(self, x):\n        return self.scale(x)\n    def scale(self, x):\n"
        f"        return super().forward(x) * {n}\n"
        for n in range(count)
    )
    return f"{methods}def main(net):\n    x = net(1)\n    y = net.scale(x)\n"


def test_functions_of_one_name_are_read_once_each(monkeypatch):
    """However many functions call one of that name, and however deep they are followed."""
    read = []
    scope = keeping.Scope
    monkeypatch.setattr(keeping, "Scope", lambda function: read.append(function) or scope(function))
    text = same_named(50)
    assert kept(text, text.count("\n"), "x") == 0
    assert len(read) == len({*map(id, read)}) == 101


def test_reading_grows_as_the_number_of_functions_does():
    """Twice the functions of one name, twice the work."""

    def work(count):
        text = same_named(count)
        found, line = Source(ast.parse(text)), text.count("\n")
        return lines(lambda: found.index(Keeping).kept_at(found.scope_at(line), {"x"})).total()

    assert work(40) < 2.2 * work(20)


def test_a_part_of_a_variable_that_is_kept():
    """An attribute or a key of that name; another one of the variable is none of it."""
    lines = "out = net(1)", "shapes.append(out.shape)", "kept.append(out.loss)", "more.append(out['aux'])"
    text = "\n    ".join(["def f(net):", *lines])
    source = Source(ast.parse(text))
    keeping_of = source.index(Keeping)
    scope = source.scope_at(2)
    assert [keeping_of.field_kept_at(scope, {"out"}, {name}) for name in ("loss", "aux", "none")] == [4, 5, 0]


def test_a_variable_that_is_returned():
    """Whole, or as a part of a tuple; a number of it is none."""
    text = "def f(net):\n    loss, aux = net(1)\n    if aux:\n        return aux.item()\n    return loss, aux\n"
    source = Source(ast.parse(text))
    assert [source.index(Keeping).returned_at(source.scope_at(2), {name}) for name in ("loss", "net")] == [5, 0]
