"""The index of one file: the same answers as a walk of its tree, without the walk."""

import ast
import textwrap

import pytest

from autograd_inspector.source import parsed, shelf
from autograd_inspector.source.array_writes import ArrayWrites
from autograd_inspector.source.constants_assigned import ConstantsAssigned
from autograd_inspector.source.index import Source
from autograd_inspector.source.mentions import Mentions
from autograd_inspector.source.parsed import is_too_long
from autograd_inspector.source.shelf import source_of
from autograd_inspector.source.switches import Switches
from autograd_inspector.source.targets import target_at

NESTED = textwrap.dedent(
    """\
    import torch

    class Net:
        def forward(self, x):
            def inner(y):
                return y

            async def other(y):
                z = y
                return z
            return inner(x)

        @property
        def width(self):
            return self.a.width

    top = Net()
    """
)


def source(text):
    return Source(ast.parse(textwrap.dedent(text)))


def name_at(found, line):
    return getattr(found.scope_at(line), "name", "<module>")


def test_the_scope_of_a_line_is_the_innermost_function():
    """Between and after functions it is what they are defined in."""
    found = source(NESTED)
    names = {line: name_at(found, line) for line in range(1, 18)}
    assert [names[n] for n in (1, 3, 4, 5, 6, 7, 8, 9, 10, 11)] == [
        "<module>",
        "<module>",
        "forward",
        "inner",
        "inner",
        "forward",
        "other",
        "other",
        "other",
        "forward",
    ]
    assert [names[n] for n in (13, 14, 15, 17)] == ["<module>", "width", "width", "<module>"]


def test_a_definition_is_found_by_its_line_or_its_decorators():
    """Code of a decorated function begins at the decorator."""
    found = source(NESTED)
    assert [found.definition_at(n).name for n in (4, 13, 14)] == ["forward", "width", "width"]
    assert found.definition_at(6) is None


def test_a_target_is_the_variable_that_gets_exactly_that_expression():
    """A part of what is assigned has none."""
    found = source("x, y = f(1), g(2)\nw = nn.Parameter(torch.ones(3))\nz += h(3)\n")
    spans = {
        ast.unparse(node): (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset)
        for node in found.nodes
        if isinstance(node, ast.expr)
    }
    named = {text: target_at(found, spans[text]) for text in ("f(1)", "g(2)", "torch.ones(3)", "1", "h(3)")}
    assert named == {"f(1)": "x", "g(2)": "y", "torch.ones(3)": "w", "1": "", "h(3)": ""}


def test_mentions_are_the_statements_of_a_scope_that_read_a_name():
    """A statement that only sets it reads nothing; a loop reads what it goes over."""
    found = source(
        """\
        def one(p):
            g = p.grad
            for part in g:
                use(part)
            h = g

        def other(net):
            g = net.g
            return g
        """
    )
    mentions, scope = found.index(Mentions), found.scope_at(2)
    assert [node.lineno for node in mentions.reading(scope, "g")] == [3, 5]
    assert [node.lineno for node in mentions.renamed(scope, "g")] == [5]
    assert sorted(node.lineno for node in mentions.reading(found.tree, "g")) == [3, 5, 9]
    assert [node.lineno for node in mentions.reading(found.tree, "net.g")] == [8]


def test_arrays_are_followed_to_what_writes_them():
    """By the variable further down, and by what stands on the line itself."""
    found = source(
        "def f(t):\n    a = t.numpy()\n    a[0] = 1\n    np.copyto(a, b)\n    b += 1\n    t.numpy().fill(0)\n"
    )
    writes = found.index(ArrayWrites)
    assert [write.line for write in writes.below(2, "a")] == [3, 4]
    assert [write.line for write in writes.at(6, 4)] == [6]


def test_switches_and_attributes_are_found_by_name():
    """Whoever wraps a function in a grad mode; whoever sets an attribute to False."""
    found = source("self.f = torch.no_grad()(self._f)\nlayer.requires_grad = False\nother.eval = True\n")
    assert (found.index(Switches).line_of("_f"), found.index(Switches).line_of("g")) == (1, 0)
    assert [list(found.index(ConstantsAssigned).lines_of(n, "False")) for n in ("requires_grad", "eval")] == [[2], []]


@pytest.fixture
def counted(monkeypatch):
    """How often a text was parsed."""
    texts = []
    monkeypatch.setattr(parsed.ast, "parse", lambda text, parse=ast.parse: texts.append(text) or parse(text))
    monkeypatch.setattr(shelf, "_READ", {})
    return texts


def test_a_file_is_parsed_once_for_as_long_as_its_text_stays(counted):
    """Also when it cannot be parsed at all; a changed file is read again."""
    lines, broken = ["x = 1\n"], ["x = = 1\n"]
    first = source_of("a.py", lines)
    assert source_of("a.py", lines) is first
    assert source_of("a.py", list(lines)) is first
    assert len(counted) == 1
    assert source_of("a.py", ["x = 2\n"]) is not first
    assert source_of("b.py", broken) is None
    tries = len(counted)
    assert source_of("b.py", broken) is None
    assert len(counted) == tries


def test_only_so_many_files_are_remembered(counted, monkeypatch):
    """The oldest is forgotten first."""
    monkeypatch.setattr(shelf, "_ROOM", 2)
    for name in "abc":
        source_of(name, ["x = 1\n"])
    assert [*shelf._READ] == ["b", "c"]


def test_a_text_beyond_the_budget_is_not_parsed(counted):
    """Nor is one that is too deep for Python's own parser an error."""
    long = ["x = 1\n"] * (parsed.BUDGET // 6 + 1)
    assert is_too_long(long)
    assert source_of("generated.py", long) is None
    assert counted == []
    assert source_of("deep.py", ["x = " + "-" * 100_000 + "1\n"]) is None
