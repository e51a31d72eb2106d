"""Where a file gives a model a second name, or copies it shallowly; what Python calls the function around a line."""

from __future__ import annotations

import ast

from autograd_inspector.source.index import Source
from autograd_inspector.source.model_names import ModelNames, Naming
from autograd_inspector.source.qualified import Qualified

TEXT = """
class Agent:
    def __init__(self):
        self.net = Net()
        self.target = self.net
        self.old = copy.copy(self.net)

    def act(self, x):
        def inner():
            return self.target(x)
        return inner()

def run():
    teacher = student
    teacher(x)
    twice = a
    twice = b
    twice(x)
"""


def test_second_names():
    """An attribute is looked for in the whole file, a variable in its function; two candidates are none."""
    names = Source(ast.parse(TEXT)).index(ModelNames)
    assert names.named_at(10, "self.target") == Naming(5, "self.net", copied=False)
    assert names.named_at(10, "agent.old") == Naming(6, "self.net", copied=True)
    assert names.named_at(15, "teacher") == Naming(14, "student", copied=False)
    assert names.named_at(10, "teacher") is None
    assert names.named_at(18, "twice") is None
    assert names.named_at(10, "self.net") is None


def test_qualified_names():
    """As `__qualname__` has them, with the classes and functions around."""
    qualified = Source(ast.parse(TEXT)).index(Qualified)
    assert qualified.at(5) == "Agent.__init__"
    assert qualified.at(10) == "Agent.act.<locals>.inner"
    assert qualified.at(14) == "run"
    assert qualified.at(1) == "<module>"
