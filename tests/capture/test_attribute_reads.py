"""Whose attribute a function mentions, by its bytecode."""

from types import CodeType

import pytest

from autograd_inspector.capture.lines.attribute_reads import owners

optimizer = None


def read(self, solver, held):
    inner = 1

    def closure():
        return solver.state, inner

    solver.state["a"] = 1
    self.trainer.optimizer.state.pop("b")
    optimizer.state = {}
    del held.state
    held[0].state, held().state, held.stateful
    return closure


def test_variables_and_their_attributes():
    """Each once, in the order of the code; of what a call or an index returns nobody knows the name."""
    assert owners(read.__code__, "state") == (("solver",), ("self", "trainer", "optimizer"), ("optimizer",), ("held",))


@pytest.mark.parametrize("text", ["solver.state", "solver.state.clear()", "solver.state = 1", "del solver.state"])
def test_on_the_lines_of_a_module(text):
    """A script has its variables by name."""
    assert owners(compile(text, "script", "exec"), "state") == (("solver",),)


def test_of_a_closure():
    """A variable of the function around it is its variable too."""
    (closure,) = (constant for constant in read.__code__.co_consts if isinstance(constant, CodeType))
    assert owners(closure, "state") == (("solver",),)


def test_of_another_function():
    """One that mentions it nowhere."""
    assert owners(test_of_a_closure.__code__, "state") == ()
