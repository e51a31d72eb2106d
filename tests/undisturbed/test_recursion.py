"""A recursive program goes as deep as without us, and leaves Python's recursion limit as it was."""

import subprocess
import sys

import pytest
import torch

import autograd_inspector
from autograd_inspector.capture.undisturbed.recursion import OUT_OF_STACK
from tests.forked import INSPECTOR, python

pytestmark = pytest.mark.undisturbed

COMMON = """
import sys, warnings
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
import autograd_inspector
from autograd_inspector.capture.undisturbed.recursion import OUT_OF_STACK

warnings.simplefilter("ignore")

class Node(nn.Module):
    def __init__(self, below):
        super().__init__()
        self.weight, self.below = nn.Parameter(torch.ones(2)), below

    def forward(self, x):
        x = x * self.weight
        return x if self.below is None else self.below(x)

def nodes(depth, each=lambda module: None):
    module = None
    for _ in range(depth):
        module = Node(module)
        each(module)
    return module
"""

PROGRAMS = {
    "nested modules": """
def program(depth):
    model = nodes(depth)
    return lambda: model(torch.ones(2)).sum().backward()
""",
    "nested modules with hooks": """
def program(depth):
    model = nodes(depth, lambda module: module.register_forward_hook(lambda *_: None))
    return lambda: model(torch.ones(2))
""",
    "nested nn.Sequential": """
def program(depth):
    model = nn.Identity()
    for _ in range(depth):
        model = nn.Sequential(model)
    return lambda: model(torch.ones(2))
""",
    "a function that calls torch": """
def program(depth):
    def down(x, left):
        return nn.functional.relu(x) if left == 0 else down(x + 1, left - 1)
    return lambda: down(torch.ones(2), depth)
""",
    "the forward of a custom Function": """
def program(depth):
    class Down(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, left):
            return x * 2 if left == 0 else Down.apply(x, left - 1) * 1
        @staticmethod
        def backward(ctx, gradient):
            return gradient, None
    return lambda: Down.apply(torch.ones(2, requires_grad=True), depth)
""",
    "checkpoints": """
def program(depth):
    def down(x, left):
        return x * 2 if left == 0 else checkpoint(down, x, left - 1, use_reentrant=False)
    return lambda: down(torch.ones(2, requires_grad=True), depth).sum().backward()
""",
    "reentrant checkpoints": """
def program(depth):
    def down(x, left):
        return x * 2 if left == 0 else checkpoint(down, x, left - 1, use_reentrant=True)
    return lambda: down(torch.ones(2, requires_grad=True), depth).sum().backward()
""",
    "backward in a hook": """
def program(depth):
    def padded(left, call):
        return call() if left == 0 else padded(left - 1, call)
    def again(left):
        with torch.enable_grad():
            padded(20, lambda: down(left))
    def down(left):
        y = torch.ones(2, requires_grad=True) * 2
        if left:
            y.register_hook(lambda gradient: again(left - 1))
        y.sum().backward()
    return lambda: down(depth)
""",
    "a conversion": """
def program(depth):
    model = nodes(depth)
    return lambda: model.to(torch.float64)
""",
}

DEEPEST = """
def fits(depth):
    run = program(depth)
    try:
        run()
    except RecursionError:
        return False
    return True

fits(3)
low, high = 3, 1_200
while high - low > 1:
    middle = (low + high) // 2
    low, high = (middle, high) if fits(middle) else (low, middle)
run = program(low)
with autograd_inspector.inspect() as inspection:
    run()
capture = inspection.report.capture
print(low, len(capture.ops) + len(capture.events) > 0, OUT_OF_STACK in capture.notes, capture.stopped or "goes on")
"""


_ENDS_IN_C = {"the forward of a custom Function"} if sys.version_info[:2] == (3, 12) else set()
"""CPython 3.12 limits calls between C and Python by a number of its own, which no program can raise.

What is read of a call at the very end of that stack is not recorded, and the report says so.
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_deep_as_without_us(name):
    """The deepest run that Python's limit allows is allowed inside a block, too, and is recorded to the end."""
    source = COMMON + PROGRAMS[name] + DEEPEST
    done = subprocess.run([*python(INSPECTOR), "-c", source], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    depth, *found = done.stdout.split(maxsplit=3)
    assert int(depth) > 20
    assert found == ["True", str(name in _ENDS_IN_C), "goes on\n"]


def endless(x):
    return endless(x + 1)


def test_a_recursion_without_end_costs_no_more_than_its_last_calls():
    """The RecursionError is the program's; the capture goes on and says what it lacks."""
    with autograd_inspector.inspect() as inspection:
        with pytest.raises(RecursionError):
            endless(torch.ones(2))
        torch.ones(2).exp()
    capture = inspection.report.capture
    assert not capture.stopped
    assert capture.ops[-1].name == "exp"
    assert len(capture.ops) > 100


def test_an_observer_out_of_stack_is_told_of_and_stops_nothing(monkeypatch):
    """What was about to be recorded is lost, and the report says so."""
    from autograd_inspector.capture.recording.registry import Registry

    original = Registry.add

    def add(self, tensor, *rest):
        if tensor.shape == (7,):
            raise RecursionError
        return original(self, tensor, *rest)

    monkeypatch.setattr(Registry, "add", add)
    with autograd_inspector.inspect() as inspection:
        torch.ones(7)
        torch.ones(2).exp()
    capture = inspection.report.capture
    assert [op.name for op in capture.ops] == ["ones", "exp"]
    assert OUT_OF_STACK in capture.notes
    assert not capture.stopped


def limits(program):
    """The recursion limit before, and after the block in which the program runs."""
    before = sys.getrecursionlimit()
    try:
        with autograd_inspector.inspect():
            program(before)
        return before, sys.getrecursionlimit()
    finally:
        sys.setrecursionlimit(before)


def test_the_recursion_limit_is_restored():
    """After a block that did not touch it."""
    before, after = limits(lambda _: torch.ones(2).exp())
    assert after == before


def test_a_limit_that_the_program_sets_stays_set():
    """What the block sets is what stands after it, though runs of the engine lie in between."""

    def program(before):
        torch.ones(2, requires_grad=True).sum().backward()
        sys.setrecursionlimit(before + 2_345)
        torch.ones(2, requires_grad=True).sum().backward()

    before, after = limits(program)
    assert after == before + 2_345


def test_a_limit_that_the_program_restores_is_its_own():
    """It read a limit with our frames on top, and set that again: they are gone after the block."""

    def program(_):
        own = sys.getrecursionlimit()
        sys.setrecursionlimit(5_000)
        torch.ones(2, requires_grad=True).sum().backward()
        sys.setrecursionlimit(own)

    before, after = limits(program)
    assert after == before


def test_the_program_is_told_its_own_limit():
    """Inside as outside, in a run of the engine too; a change that it computes from that is the change that it gets."""
    told = []

    def program(before):
        told.append(sys.getrecursionlimit())
        leaf = torch.ones(2, requires_grad=True)
        leaf.register_hook(lambda _: told.append(sys.getrecursionlimit()))
        leaf.sum().backward()
        sys.setrecursionlimit(sys.getrecursionlimit() + 500)
        told.append(sys.getrecursionlimit())

    before, after = limits(program)
    assert told == [before, before, before + 500]
    assert after == before + 500


def test_a_limit_that_is_read_inside_and_set_outside():
    """It is the program's own."""
    saved = []
    before, _ = limits(lambda _: saved.append(sys.getrecursionlimit()))
    assert saved == [before]


def test_a_limit_that_the_program_sets_leaves_room_for_the_observers(monkeypatch):
    """Whatever it sets, Python's own is higher as long as the block lasts."""
    from autograd_inspector.capture.undisturbed import recursion

    higher = []

    def program(before):
        for limit in (before + 97, before + 102, before):
            sys.setrecursionlimit(limit)
            assert sys.getrecursionlimit() == limit
            higher.append(recursion._limit() - limit)

    limits(program)
    assert higher == [recursion.FOR_OBSERVERS] * 3


@pytest.mark.parametrize("wrong", [(), ("x",), (0,), (1, 2)])
def test_a_limit_that_python_refuses(wrong):
    """In its own words."""

    def refusal():
        with pytest.raises((TypeError, ValueError)) as raised:
            sys.setrecursionlimit(*wrong)
        return str(raised.value)

    told = []
    limits(lambda _: told.append(refusal()))
    assert told == [refusal()]
