"""Where no edit is right there is none."""

import textwrap

import pytest

from autograd_inspector.edits.program import Program
from autograd_inspector.edits.written import written
from autograd_inspector.model.finding import Problem
from autograd_inspector.model.location import Location
from autograd_inspector.model.remedy import (
    AddUp,
    Again,
    Hoist,
    Insert,
    Move,
    Operand,
    OutOfPlace,
    Register,
    Remove,
    SetArgument,
    StraightThrough,
    Substitute,
    TakeOff,
    Unblock,
    Wrap,
)
from autograd_inspector.model.rewrites import (
    AddInPlace,
    AlsoGiven,
    AsList,
    AsProperty,
    BesideCall,
    DeepCopy,
    EnterHere,
    GoOn,
    IntoParameter,
    KeepResult,
    Reenter,
    SwapParts,
    SwapReturned,
    TrueDivision,
    WriteBack,
)


def place(text, part):
    """Where a part of a text stands, as the capture tells it; its last line alone, for a part of several."""
    line = next(n for n, line in enumerate(text.split("\n"), 1) if part in line)
    column = text.split("\n")[line - 1].index(part)
    return Location("train.py", line, end_lineno=line, column=column, end_column=column + len(part))


def edits(text, *remedies):
    """The edits of remedies in a text."""
    program = Program("train.py", None, text)
    return written(Problem("error", "", cures=(remedies,)), lambda at: None if at.library else program).edits


CASES = {
    "a call that does not detach": ("y = f(x)\n", lambda t: TakeOff(place(t, "f(x)"))),
    "a function of NumPy that torch has not": (
        "import numpy as np\nimport torch\ny = torch.from_numpy(np.interp(x, p, q))\n",
        lambda t: TakeOff(place(t, "torch.from_numpy(np.interp(x, p, q))")),
    ),
    "a loop's variable": ("for p in ps:\n    p.mul_(2)\n", lambda t: OutOfPlace(place(t, "p.mul_(2)"))),
    "what an expression gives": ("f(x).mul_(2)\n", lambda t: OutOfPlace(place(t, "f(x).mul_(2)"))),
    "a name that is not known there": (
        "def f(loss):\n    loss.backward()\n",
        lambda t: Insert(place(t, "loss.backward()"), "opt.zero_grad()"),
    ),
    "a statement that another one between them needs": (
        "a = 1\nb = a\nc = 2\n",
        lambda t: Move(place(t, "a = 1"), place(t, "c = 2")),
    ),
    "statements of two functions": (
        "def f():\n    a()\ndef g():\n    b()\n",
        lambda t: Move(place(t, "a()"), place(t, "b()")),
    ),
    "an argument of another function": ("y = f(x)\n", lambda t: SetArgument(place(t, "f(x)"), "g", "k", "1")),
    "an argument that is not there": ("y = f(x)\n", lambda t: SetArgument(place(t, "f(x)"), "f", "k", "")),
    "a generator that has the call's brackets": (
        "y = f(x for x in z)\n",
        lambda t: SetArgument(place(t, "f(x for x in z)"), "f", "k", "1"),
    ),
    "a context that has a name": ("with open(x) as y:\n    pass\n", lambda t: Unblock(place(t, "open(x)"))),
    "an insertion that is to happen once": (
        "for x in y:\n    f(x)\n",
        lambda t: Insert(place(t, "f(x)"), "print(x)", once=True),
    ),
    "a second statement on a line": ("a(); b()\n", lambda t: Wrap(place(t, "b()"), "with torch.no_grad():")),
    "a comparison without a cast": ("y = x > 1\n", lambda t: StraightThrough(place(t, "x > 1"))),
    "several values": ("a, b = x, y\n", lambda t: Substitute(place(t, "a, b = x, y"), "", "{}.detach()")),
    "what is not read there": ("a = x\n", lambda t: Substitute(place(t, "a = x"), "y", "{}.clone()")),
    "what an f-string computes": ('y = f"{x.detach()}"\n', lambda t: TakeOff(place(t, "x.detach()"))),
    "arguments that are unpacked": ("y = f(*x)\n", lambda t: Operand(place(t, "f(*x)"), "first", "{}.clone()")),
    "a block that is run again": (
        "for x in y:\n    pass\nfor x in y:\n    f(x)\n",
        lambda t: Again(place(t, "for x in y:\n"[:-1]), place(t, "f(x)")),
    ),
    "a name that is bound further down alone": (
        "def f(x):\n    x.backward()\n    h = x\n    return h\n",
        lambda t: Insert(place(t, "x.backward()"), "h = h.detach()", "behind"),
    ),
    "a name that only one branch binds": (
        "def f(x):\n    if x:\n        h = x\n    x.backward()\n",
        lambda t: Insert(place(t, "x.backward()"), "h = h.detach()", "behind"),
    ),
    "a variable that nothing reads afterwards, but its memory": (
        "def f(h):\n    h.add_(1)\n",
        lambda t: OutOfPlace(place(t, "h.add_(1)"), views=0, read_later=True),
    ),
    "an item that a call finds": (
        "xs[next(it)].add_(1)\n",
        lambda t: OutOfPlace(place(t, "xs[next(it)].add_(1)"), views=0),
    ),
    "a statement that does more than to call": (
        "metric.update(x)\n",
        lambda t: Remove(place(t, "metric.update(x)"), "set_grad_enabled"),
    ),
    "a repetition that is to happen once": (
        "o = f(x)\nfor x in y:\n    g(x)\n",
        lambda t: Again(place(t, "o = f(x)"), place(t, "g(x)"), once=True),
    ),
    "several sums by a slice": ("a[1:] += b\n", lambda t: AddUp(place(t, "a[1:] += b"))),
    "a copy of what is a copy itself": (
        "y = torch.from_numpy(x.numpy()[i])\n",
        lambda t: TakeOff(place(t, "torch.from_numpy(x.numpy()[i])")),
    ),
    "a value of a list that is copied as a whole": (
        "y = torch.tensor([a - b for a, b in zip(x.tolist(), z)])\n",
        lambda t: TakeOff(place(t, "x.tolist()")),
    ),
    "a call of what is no method": ("f(x)\n", lambda t: KeepResult(place(t, "f(x)"))),
    "a function that gets no variable": ("f(x + 1)\n", lambda t: KeepResult(place(t, "f(x + 1)"), argument=True)),
    "a result that is kept already": ("y = x.add(1)\n", lambda t: KeepResult(place(t, "x.add(1)"))),
    "an attribute that is computed of a local variable": (
        "class A:\n    def __init__(self, n):\n        self.x = n.exp()\n        self.y = 1\n",
        lambda t: AsProperty(place(t, "self.x = n.exp()")),
    ),
    "an attribute that something else sets": (
        "class A:\n    def __init__(self):\n        self.x = self.n.exp()\n        self.y = 1\na.x = 2\n",
        lambda t: AsProperty(place(t, "self.x = self.n.exp()")),
    ),
    "a mode that is not entered": (
        "with torch.inference_mode(False):\n    f(x)\n",
        lambda t: Reenter(place(t, "torch.inference_mode(False)"), "no_grad"),
    ),
    "a context with nothing behind it": ("torch.no_grad()\n", lambda t: EnterHere(place(t, "torch.no_grad()"))),
    "a call that is no context": ("f()\ng()\n", lambda t: EnterHere(place(t, "f()"))),
    "a division without remainder of a module": ("x = a // b\n", lambda t: TrueDivision(place(t, "a // b"))),
    "a list that is kept already": (
        "p = list(net.parameters())\nclip(p, 1)\n",
        lambda t: AsList(place(t, "clip(p, 1)")),
    ),
    "a loss that adds itself up": (
        "for x in y:\n    s = s + f(x)\ns.backward()\n",
        lambda t: AddInPlace(place(t, "s = s + f(x)"), place(t, "s.backward()")),
    ),
    "a loss that each backward reads": (
        "for x in y:\n    s = f(x)\n    s.backward()\n",
        lambda t: AddInPlace(place(t, "s = f(x)"), place(t, "s.backward()")),
    ),
    "three parts in another order": ("o = Adam([a, b, c])\n", lambda t: SwapParts(place(t, "Adam([a, b, c])"))),
    "a gradient that no loop hands on": (
        "m.grad = p.grad\no.step()\n",
        lambda t: WriteBack(place(t, "m.grad = p.grad"), place(t, "o.step()")),
    ),
    "a call that returns less than it is given": (
        "m = prepare(m, l)\no = 1\n",
        lambda t: AlsoGiven(place(t, "m = prepare(m, l)"), "o"),
    ),
    "a value that is no parameter": ("w = f(x)\n", lambda t: IntoParameter(place(t, "w = f(x)"))),
    "copies of which it is not known which one is meant": (
        "a = copy.copy(x)\nb = copy.copy(y)\nf(a)\n",
        lambda t: DeepCopy(place(t, "f(a)")),
    ),
    "gradients that a list returns": (
        "class F:\n    def backward(ctx, g):\n        return (*ctx.g, g)\n",
        lambda t: SwapReturned(place(t, "return (*ctx.g, g)"), 0, 1),
    ),
    "two steps of one scaler": (
        "def f():\n    s.step(a)\n    s.step(b)\n    s.update()\n",
        lambda t: BesideCall(place(t, "s.update()"), "step"),
    ),
    "out of a loop that it is not in": ("a()\nb()\n", lambda t: Hoist(place(t, "a()"), place(t, "b()"))),
}


@pytest.mark.parametrize("name", CASES)
def test_no_edit(name):
    """The program stays as it is."""
    text, remedy = CASES[name]
    assert edits(text, remedy(text)) == ()


def test_a_library_is_not_edited():
    """Its lines are not the user's to change."""
    at = Location("site-packages/lib.py", 1, column=0, end_column=4, library=True)
    assert edits("x.detach()\n", TakeOff(at)) == ()


def test_of_two_things_one_of_which_cannot_be_done_none_is():
    """A cure is all of its remedies."""
    text = "h = x.detach()\ny = f(h)\n"
    assert edits(text, TakeOff(place(text, "x.detach()")))
    assert edits(text, TakeOff(place(text, "x.detach()")), TakeOff(place(text, "f(h)"))) == ()


def test_the_first_cure_that_can_be_written_is():
    """Others that can be are kept, to be tried; of an info they are not."""
    text = "h = x.detach()\ny = f(h)\n"
    program = Program("train.py", None, text)
    first, other = TakeOff(place(text, "x.detach()")), Operand(place(text, "f(h)"), "whole", "{}.sum()")
    cures = ((TakeOff(place(text, "f(h)")),), (first,), (first,), (other,))
    found = written(Problem("error", "", cures=cures), lambda _: program)
    assert [edit.text for edit in found.edits] == ["x"]
    assert [[edit.text for edit in edits] for edits in found.others] == [["f(h).sum()"]]
    assert written(Problem("info", "", cures=cures), lambda _: program).others == ()


def test_text_that_is_no_python_is_left_alone():
    """A template, say."""
    assert edits("{{ x.detach() }\n", TakeOff(place("{{ x.detach() }\n", "x.detach()"))) == ()


def test_a_string_over_several_lines_keeps_its_own():
    """The white space of its lines is a part of it."""
    text = textwrap.dedent('''
        with torch.no_grad():
            s = """
            a
            """
            h = enc(x)
        ''')
    at = Location("train.py", 2, end_lineno=2, column=5, end_column=20)
    program = Program("train.py", None, text)
    (edit,) = written(Problem("error", "", cures=((Unblock(at),),)), lambda _: program).edits
    assert edit.text == 's = """\n    a\n    """\nh = enc(x)\n'


@pytest.mark.parametrize(
    ("text", "part", "remedy"),
    [
        (
            "class A(nn.Module):\n    def __init__(self):\n        self.h = {k: nn.Linear(1, 1) for k in keys}\n",
            "{k",
            Register,
        ),
        (
            "class A(nn.Module):\n    def __init__(self):\n        self.h = {1: nn.Linear(1, 1)}\n",
            "{1",
            Register,
        ),
        ("def step(ps):\n    return 1\n", "return 1", GoOn),
        ("def step(ps):\n    for p in ps:\n        def f():\n            return 1\n", "return 1", GoOn),
    ],
)
def test_what_is_no_round_and_no_text(text, part, remedy):
    """Keys that may be no strings make no ModuleDict, and only a loop of the function itself goes on."""
    assert edits(text, remedy(place(text, part))) == ()


def test_an_attribute_of_another_class():
    """A method knows nothing of what its own class has not given itself by then."""
    text = "class A:\n    def __init__(self):\n        self.opt = 1\n        self.net = 2\n        self.last = 3\n"
    assert edits(text, Insert(place(text, "self.opt = 1"), "self.opt.add(other.net)", "behind")) == ()
    assert edits(text, Insert(place(text, "self.last = 3"), "self.opt.add(other.net)", "behind")) != ()
    assert edits(text, Insert(place(text, "self.last = 3"), "self.opt.add(other.head)", "behind")) == ()


WHY = {
    "the line is in a library (torch/nn/functional.py)": lambda t: TakeOff(
        Location("/usr/lib/site-packages/torch/nn/functional.py", 1, column=0, end_column=4, library=True)
    ),
    "no edit is known for the way train.py:3 is written": lambda t: TakeOff(place(t, "f(h)")),
    "the fix needs `opt`, which has no value at that line": lambda t: Insert(place(t, "return f(h)"), "opt.step()"),
}


@pytest.mark.parametrize("why", WHY)
def test_where_there_is_no_edit_it_is_said_why(why):
    """The reason of the cure that is the best."""
    text = "def g(x):\n    h = x.detach()\n    return f(h)\n"
    program = Program("train.py", None, text)
    cures = ((WHY[why](text),), (TakeOff(place(text, "g(x)")),))
    told = written(Problem("error", "It is cut.", cures=cures), lambda at: None if at.library else program)
    assert told.edits == ()
    assert told.unedited.sentence == why


def test_a_problem_without_a_cure_says_why():
    """Which change is right is not known, or the text, or the line."""
    own, program = Location("train.py", 1), Program("train.py", None, "y = f(x)\n")

    def why(at, known):
        problem = Problem("error", "It is cut.", locations=at)
        return written(problem, lambda _: known).unedited.sentence

    assert why((own,), program) == "the fix is a choice: the program does not show which change is right"
    assert why((own,), None) == "the source of train.py cannot be read"
    assert why((), program) == "no line of the program is known for it"


def test_a_new_text_that_reads_a_name_without_a_value_is_no_edit():
    """It says which name that is."""
    text = "a = f(x)\nb = g(a)\n"
    program = Program("train.py", None, text)
    problem = Problem(
        "error", "It is old.", cures=((Move(place(text, "a = f(x)"), place(text, "b = g(a)"), read=True),),)
    )
    told = written(problem, lambda _: program)
    assert told.unedited.sentence == "the fix needs `a`, which has no value at that line"
