"""Loops that freeze parameters by their names, read off the source."""

from __future__ import annotations

import ast

from autograd_inspector.source.freezing_loops import FreezingLoops
from autograd_inspector.source.index import Source

TEXT = """
def setup(net, frozen):
    for name, p in net.named_parameters():
        if name.startswith("a") or "b" in name:
            p.requires_grad = False
    for name, p in net.named_parameters():
        if name in frozen:
            p.requires_grad_(False)
    for name, m in net.named_modules():
        if "c" in name:
            m.eval()
            m.requires_grad_(False)
    for name, p in net.named_parameters():
        if "d" in name:
            p.requires_grad_(True)
    return net
"""


def test_tests_with_words_that_freeze():
    """The test, its words, the freezing lines, and where one has the loop behind oneself."""
    found = FreezingLoops(Source(ast.parse(TEXT))).loops
    assert [(loop.line, loop.words, loop.freezing, loop.after, loop.until) for loop in found] == [
        (4, ("a", "b"), (5,), 6, 16),
        (10, ("c",), (12,), 13, 16),
    ]


def test_last_statement():
    """Of a loop that nothing follows it cannot be seen that it was run to its end."""
    text = "for n, p in net.named_parameters():\n    if 'a' in n:\n        p.requires_grad = False\n"
    assert FreezingLoops(Source(ast.parse(text))).loops == []
