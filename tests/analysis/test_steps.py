"""What steps use, and what is done to gradients around them."""

from __future__ import annotations

import pytest

from autograd_inspector.analysis.gradients.late import applied_again, stepped_twice
from autograd_inspector.analysis.gradients.normalising import normalised
from autograd_inspector.analysis.gradients_looked_for import looked_for
from autograd_inspector.analysis.losses_without_backward import losses, read_out, waiting
from autograd_inspector.analysis.optimizers.loads import is_refusal
from autograd_inspector.analysis.ranks.losses import mean_as_it_is
from autograd_inspector.analysis.ranks.updates import computes_in_place
from autograd_inspector.model.event import GradRead, GradWrite
from autograd_inspector.model.op import Trait

from .written import Written


def stepped(*, backward_between=(), same_line=False, assigned=False):
    """Two steps that meet the same gradient, with a backward to some other parameters in between."""
    program = Written()
    w, v, gradient = program.parameter("w"), program.parameter("v"), program.tensor()
    optimizer = program.optimizer(w)
    program.backward(program.call("pow", w))
    program.step(optimizer, line=1, gradient=gradient)
    for other in backward_between:
        program.backward(program.call("pow", {"w": w, "v": v}[other]))
    if assigned:
        program.more["grad_writes"] = (GradWrite(len(program.ops), w, gradient, -1),)
    program.step(optimizer, line=1 if same_line else 2, gradient=gradient)
    return program.analysis


def test_two_steps_for_one_backward():
    """The second one moves the parameters by the same gradient once more; one line in a loop means to."""
    [found] = stepped_twice(stepped())
    assert (found.first.op, found.second.op, found.tensors) == (1, 2, (0,))
    assert list(stepped_twice(stepped(same_line=True))) == []
    assert list(stepped_twice(stepped(backward_between="w"))) == []


def test_an_old_gradient_is_applied_once_more():
    """A backward ran in between, and gave others theirs; where the program assigns one it is meant."""
    [found] = applied_again(stepped(backward_between="v"))
    assert (found.tensors, found.run.index) == ((0,), 1)
    assert list(applied_again(stepped(backward_between="w"))) == []
    assert list(applied_again(stepped(backward_between="v", assigned=True))) == []


def test_gradients_that_are_multiplied_by_their_own_norm():
    """Clipping by hand; a factor that was computed of something else is none."""
    program = Written()
    w, gradient, other = program.parameter(), program.tensor(), program.tensor()
    program.more["grad_reads"] = (GradRead(0, w, gradient, -1, leaf=True),)
    program.write("mul_", gradient, program.call("reciprocal", program.call("norm", gradient, shape=()), shape=()))
    program.write("mul_", gradient, program.call("norm", other, shape=()))
    program.write("add_", gradient, program.call("norm", gradient, shape=()))
    found = [(op.index, tensor) for op, tensor in normalised(program.analysis, [w], 0, 99)]
    assert found == [(2, w)]


@pytest.mark.parametrize(
    ("read", "found"),
    [
        ({}, True),
        ({"gradient": 1}, False),
        ({"asks": True}, False),
        ({"clips": 1.0}, False),
        ({"at": 0}, False),
        ({"leaf": False}, False),
    ],
)
def test_a_gradient_that_the_program_looks_for(read, found):
    """It let the tensor require grad itself, and reads None after a backward; asking whether it is None is no look."""
    program = Written()
    x = program.tensor(grad=True)
    program.tensor()
    program.backward(program.call("pow", program.parameter()))
    fields = {"at": 1, "tensor": x, "gradient": -1, "site": -1, "leaf": True} | read
    program.more["grad_reads"] = (GradRead(**fields),)
    assert (x in looked_for(program.capture)) is found


def test_a_gradient_of_a_models_parameter_is_not_looked_for():
    """Who goes through all parameters asks for none in particular."""
    program = Written()
    w = program.parameter()
    program.backward(program.call("pow", w))
    program.more["grad_reads"] = (GradRead(1, w, -1, -1, leaf=True),)
    assert looked_for(program.capture) == {}


def test_results_that_wait_for_a_backward():
    """What a backward began at, and what went on, are none; a mean that is only read for the log is no going on."""
    program = Written()
    w = program.parameter()
    program.backward(program.call("sum", w, shape=()))
    loss = program.call("mean", program.call("pow", w), shape=())
    program.call("item", loss, shape=(), traits=Trait.EXPORT, grad=False)
    capture = program.capture
    assert [op.name for op in waiting(capture, [w])] == ["pow", "mean"]
    assert [op.name for op in losses(capture, [w], 0, len(capture.ops))] == ["mean"]
    assert read_out(capture, capture.ops[2])
    assert not read_out(capture, capture.ops[1])


@pytest.mark.parametrize(
    ("name", "mean"), [("mean", True), ("mse_loss", True), ("cross_entropy", True), ("sum", False)]
)
def test_a_loss_that_is_a_mean(name, mean):
    """By the op that made it."""
    program = Written()
    run = program.backward(program.call(name, program.parameter(), shape=()))
    assert mean_as_it_is(program.capture, run) is mean


@pytest.mark.parametrize(
    ("name", "computes"),
    [
        ("mul_", True),
        ("lerp_", True),
        ("clamp_", True),
        ("copy_", False),
        ("set_data", False),
        ("_foreach_copy_", False),
    ],
)
def test_writes_that_compute_with_what_was_there(name, computes):
    """A copy gives other values, not new ones of the old."""
    assert computes_in_place(name) is computes


def test_refusals_of_load_state_dict():
    """Those for other groups; another error is none."""
    assert is_refusal(
        "ValueError: loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
    )
    assert not is_refusal("ValueError: something else")
