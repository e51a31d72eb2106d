"""Which lines of a function assign or drop optimizer state, as its text has them."""

import ast
import textwrap

import pytest

from autograd_inspector.source.index import Source
from autograd_inspector.source.state_writes import StateLine, StateWrites


def lines_of(text):
    source = Source(ast.parse(textwrap.dedent(text)))
    return source.index(StateWrites).of(source.tree)


@pytest.mark.parametrize(
    ("statement", "what", "keys"),
    [
        ('opt.state[p] = {"m": a, "v": b}', "assigned", ("m", "v")),
        ("opt.state[p] = dict(m=a)", "assigned", ("m",)),
        ("opt.state[p] = given", "assigned", ()),
        ('opt.state[p]["m"] = a', "assigned", ("m",)),
        ("opt.state[p][key] = a", "assigned", ()),
        ('opt.state[p].setdefault("m", a)', "assigned", ("m",)),
        ('opt.state.setdefault(p, {"m": a})', "assigned", ("m",)),
        ("opt.state[p].update(given)", "assigned", ()),
        ("opt.state[p].update(m=a)", "assigned", ("m",)),
        ("opt.state.update(other.state)", "assigned", ()),
        ("opt.state = given", "assigned", ()),
        ("del opt.state[p]", "removed", ()),
        ('del opt.state[p]["m"]', "removed", ("m",)),
        ("opt.state.pop(p)", "removed", ()),
        ('opt.state[p].pop("m")', "removed", ("m",)),
        ("opt.state.clear()", "removed", ()),
        ("opt.state[p] = {}", "removed", ()),
        ("opt.state = collections.defaultdict(dict)", "removed", ()),
    ],
)
def test_a_statement(statement, what, keys):
    """All ways to write to the state, or to take something out of it."""
    assert lines_of(statement) == [StateLine(1, what, "opt", keys)]


@pytest.mark.parametrize(
    "head",
    [
        "s = self.opt.state[p]",
        "s = self.opt.state.get(p)",
        "for s in self.opt.state.values(): pass",
        "for p, s in self.opt.state.items(): pass",
        "for p, s in list(self.opt.state.items()): pass",
        "for i, s in enumerate(self.opt.state.values()): pass",
    ],
)
def test_a_variable_for_the_state_of_one_parameter(head):
    """What holds the state of a parameter is followed to where it is written."""
    assert lines_of(f'{head}\ns["m"] = a')[-1] == StateLine(2, "assigned", "self.opt", ("m",))


@pytest.mark.parametrize(
    "statement",
    [
        "x = opt.state[p]",
        'opt.state[p]["m"].mul_(2)',
        "opt.load_state_dict(opt.state_dict())",
        's["m"] = a',
        "print(opt.state)",
        "def inner(): opt.state[p] = a",
        "model.state_dict()['w'] = a",
    ],
)
def test_what_only_looks_like_it(statement):
    """Reading state, computing with it, other dictionaries, and functions that are only defined here."""
    assert lines_of(statement) == []


@pytest.mark.parametrize(
    "bound",
    [
        "entry: dict = self.state[p]",
        "use(entry := self.state[p])",
        "entry, other = self.state[p], None",
        "self.entry = self.state[p]",
        "at['entry'] = self.state[p]",
    ],
)
def test_an_entry_in_any_form_of_assignment(bound):
    """However the state of a parameter got its name, what is stored under that is state."""
    name = "self.entry" if "self.entry" in bound else "at['entry']" if "at[" in bound else "entry"
    text = f"{bound}\n{name}['mu'] = p.grad"
    assert [(line.what, line.keys) for line in lines_of(text)] == [("assigned", ("mu",))]
