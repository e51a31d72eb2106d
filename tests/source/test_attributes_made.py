"""Where a class makes the containers that are its attributes."""

from __future__ import annotations

import ast

from autograd_inspector.source.attributes_made import AttributesMade
from autograd_inspector.source.index import Source

TEXT = """
class Net:
    def __init__(self, layers):
        self.given = layers
        self.blocks = []
        self.named: dict = {}
        self.blocks = [1]

class Other:
    def reset(self):
        self.blocks = [make() for _ in range(3)]
"""


def test_line_of_the_container():
    """The first assignment within the class; what is only handed on is made elsewhere."""
    made = Source(ast.parse(TEXT)).index(AttributesMade)
    assert made.line("Net", "blocks") == 5
    assert made.line("Net", "named") == 6
    assert made.line("Other", "blocks") == 11
    assert made.line("Net", "given") == 0
    assert made.line("Other", "named") == 0
