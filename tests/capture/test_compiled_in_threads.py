"""Compiled code in several threads: each one's own, and what that costs the observed thread is told."""

import threading
from contextlib import contextmanager

import pytest
import torch
import torch._dynamo
from torch import nn

import autograd_inspector
from autograd_inspector.capture.observers.compiled.calls import ELSEWHERE
from autograd_inspector.capture.torch_private.modes import function_modes
from tests.capture.observe import names


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@torch.compile(backend="eager")
def quick(x):
    return x * 2


class Slow:
    """A compiled function that rests half-way until it is let go."""

    def __init__(self):
        self.rests, self.goes_on = threading.Event(), threading.Event()

        @torch.compiler.disable
        def rest():
            self.rests.set()
            assert self.goes_on.wait(60)

        @torch.compile(backend="eager")
        def slow(x):
            y = x * 2
            rest()
            return y + 1

        self.call = slow

    @contextmanager
    def running_elsewhere(self):
        """Meanwhile another thread is inside it."""
        thread = threading.Thread(target=lambda: self.call(torch.ones(2)))
        thread.start()
        assert self.rests.wait(60)
        try:
            yield
        finally:
            self.goes_on.set()
            thread.join()


def train(model, optimizer):
    optimizer.zero_grad()
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()


def test_what_the_observed_thread_does_meanwhile_is_missing_and_the_report_says_so():
    """Compiled code must not trace the observers, in no thread. What comes after it is observed as ever."""
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with autograd_inspector.inspect() as inspection:
        with Slow().running_elsewhere():
            train(model, optimizer)
        train(model, optimizer)
    capture = inspection.report.capture
    assert ELSEWHERE in capture.notes
    assert (len(capture.calls), len(capture.backwards), len(capture.steps)) == (1, 1, 1)


def test_nothing_is_said_where_no_other_thread_runs_compiled_code():
    """The program's own is told by its ops."""
    with autograd_inspector.inspect() as inspection:
        quick(torch.ones(2))
    assert ELSEWHERE not in inspection.report.capture.notes


def test_another_threads_call_inside_one_of_ours():
    """It ends no region but its own, and nothing is put on its stack of modes; ours stays what it is."""
    left, slow = [], Slow()

    def other():
        assert slow.rests.wait(60)
        quick(torch.ones(2))
        left.append(function_modes())
        slow.goes_on.set()

    with autograd_inspector.inspect() as inspection:
        thread = threading.Thread(target=other)
        thread.start()
        slow.call(torch.ones(2))
        thread.join()
        torch.ones(2).exp()
    assert left == [[]]
    assert function_modes() == []
    capture = inspection.report.capture
    assert names(capture) == ["ones", "mul", "add", "ones", "exp"]
    assert not any("off torch's stack" in note for note in capture.notes)


def test_a_call_of_ours_inside_another_threads():
    """The observers stay away until both have ended."""
    model, compiled = nn.Linear(2, 2), Slow()
    with autograd_inspector.inspect() as inspection:
        with compiled.running_elsewhere():
            quick(torch.ones(2))
            model(torch.ones(1, 2))
        model(torch.ones(1, 2))
    assert len(inspection.report.capture.calls) == 1
