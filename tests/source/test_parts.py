"""How large expressions are, and what their calls are looked up in."""

import ast

from autograd_inspector.source.index import Source
from autograd_inspector.source.parts import Parts


def parts_of(text):
    """Those of the expressions that a text begins with, from the outermost inwards."""
    source = Source(ast.parse(text))
    (statement,) = source.tree.body
    return source.index(Parts), statement.value


def test_an_expression_has_all_that_is_inside():
    """Counted as a walk counts it."""
    parts, node = parts_of("torch.exp(w.sum()) + fn.relu(torch.sin(x), [nn.init.ones_(y)])")
    assert parts.of(node).size == len(list(ast.walk(node)))
    assert set(parts.of(node).owners) == {"torch", "w", "fn", "nn.init"}
    assert parts.of(node.left) == (len(list(ast.walk(node.left))), ("torch", "w"))


def test_it_is_the_same_whatever_was_asked_for_first():
    """From outside inwards, and the other way."""
    text = "a.f(b.g(c.h()))"
    parts, outer = parts_of(text)
    outermost_first = [parts.of(node) for node in (outer, outer.args[0])]
    parts, outer = parts_of(text)
    assert [parts.of(node) for node in (outer.args[0], outer)] == outermost_first[::-1]


def test_of_a_page_of_names_some_are_told():
    """Each prefix of a sum would have as many as terms before it."""
    parts, node = parts_of(" + ".join(f"x{number}.exp()" for number in range(200)))
    assert len(parts.of(node).owners) == 32
    assert parts.of(node).size == len(list(ast.walk(node)))


def test_what_is_deep_is_no_trouble():
    """Deeper than Python calls."""
    deepest = 500
    node = ast.parse("w").body[0].value
    for _ in range(deepest * 10):
        node = ast.UnaryOp(ast.USub(), node)
    assert Source(ast.parse("")).index(Parts).of(node).size == 2 + 2 * deepest * 10
