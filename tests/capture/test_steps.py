"""Optimizer steps: one record each, whatever the step does."""

import weakref

import pytest
import torch
from torch import nn

from autograd_inspector.model.op import Trait
from tests.capture.observe import names, observe, op


def parameter():
    tensor = nn.Parameter(torch.ones(3))
    tensor.grad = torch.ones(3)
    return tensor


def test_a_step_is_one_op():
    """None of the step's own arithmetic is recorded, and what follows is."""
    weight = parameter()
    optimizer = torch.optim.Adam([weight])

    def program():
        optimizer.step()
        weight.exp()

    capture = observe(program)
    assert names(capture) == ["Adam.step", "exp"]
    assert op(capture, "Adam.step").has(Trait.STEP)
    (step,) = capture.steps
    assert step.op == 0
    assert [(p.version_before, p.version_after) for p in step.parameters] == [(0, 1)]


@pytest.mark.parametrize("kind", ["AdamW", "Adam", "SGD", "Adagrad"])
@pytest.mark.parametrize("fused", [True, False])
def test_a_fused_step_moves_no_counter_and_says_so(kind, fused):
    """fused=True updates parameters behind autograd's back; the other implementations do not."""
    optimizer = getattr(torch.optim, kind)([parameter()], lr=0.1, fused=fused)
    (step,) = observe(optimizer.step).steps
    assert [met.version_after == met.version_before for met in step.parameters] == [fused]


def test_a_closure_is_recorded():
    """Forward and backward inside step(closure) are the program's, as often as the optimizer calls it."""
    layer = nn.Linear(3, 1)
    optimizer = torch.optim.LBFGS(layer.parameters(), max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = layer(torch.ones(2, 3)).pow(2).sum()
        loss.backward()
        return loss

    capture = observe(lambda: optimizer.step(closure))
    assert names(capture) == ["ones", "linear", "pow", "sum"] * len(capture.backwards) + ["LBFGS.step"]
    assert len(capture.backwards) > 1


def test_recording_resumes_after_a_step_that_raised():
    """The program catches the step's error and goes on: so does the capture, and the step is told as raised."""
    weight = parameter()
    optimizer = torch.optim.Adam([weight])
    optimizer.step()
    optimizer.state[weight]["exp_avg"] = torch.ones(3, dtype=torch.float64)

    def program():
        try:
            optimizer.step()
        except RuntimeError:
            weight.exp()

    capture = observe(program)
    assert names(capture) == ["Adam.step", "exp"]
    assert capture.steps[0].error


def test_recording_resumes_after_a_closure_that_raised():
    """An exception out of the closure leaves the step, too."""

    def closure():
        torch.ones(1).sin()
        raise ValueError

    def program():
        try:
            torch.optim.SGD([parameter()], lr=0.1).step(closure)
        except ValueError:
            torch.ones(1).exp()

    assert [name for name in names(observe(program)) if name != "ones"] == ["sin", "SGD.step", "exp"]


def test_an_inherited_step_is_one_step():
    """A subclass that calls super().step() steps once."""

    class Mine(torch.optim.SGD):
        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.grad.mul_(0.5)
            return super().step(closure)

    torch.optim.SGD([parameter()], lr=0.1)
    optimizer = Mine([parameter()], lr=0.1)

    def program():
        optimizer.step()
        torch.ones(1).exp()

    capture = observe(program)
    assert len(capture.steps) == 1
    assert names(capture) == ["Mine.step", "ones", "exp"]


def test_looking_for_gradients_is_not_reading_them():
    """Neither the inspector nor torch's zero_grad counts as a read of .grad; the program's own does."""
    weight = parameter()
    optimizer = torch.optim.Adam([weight])

    def program():
        optimizer.step()
        optimizer.zero_grad()
        assert weight.grad is None

    (read,) = observe(program).grad_reads
    assert read.gradient == -1


def test_a_gradient_that_the_step_changes():
    """Foreach Nesterov SGD adds the momentum into .grad: the record has the gradient's version before and after."""
    optimizer = torch.optim.SGD([parameter()], lr=0.1, momentum=0.9, nesterov=True, foreach=True)
    (step,) = observe(optimizer.step).steps
    (fact,) = step.parameters
    assert fact.gradient_after > fact.gradient_before


def test_a_closure_frees_the_gradients_that_it_clears():
    """As without the inspector: whoever clears gradients to make room for others gets the room."""
    weight = nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    alive = []

    def program():
        (weight * 2).sum().backward()
        before = weakref.ref(weight.grad)

        def closure():
            optimizer.zero_grad()
            alive.append(before() is not None)
            loss = (weight * 3).sum()
            loss.backward()
            return loss

        optimizer.step(closure)

    capture = observe(program)
    assert alive == [False]
    ((met,),) = [step.parameters for step in capture.steps]
    assert met.gradient == capture.ops[-1].inputs[0] >= 0


def test_a_step_frees_the_gradients_that_it_clears():
    """It is told that it was given them."""

    class Clearing(torch.optim.SGD):
        def step(self, closure=None):
            super().step()
            before = weakref.ref(weight.grad)
            weight.grad = None
            alive.append(before() is not None)

    weight, alive = parameter(), []
    optimizer = Clearing([weight], lr=0.1)
    (step,) = observe(lambda: optimizer.step()).steps  # noqa: PLW0108 - looked up in the block
    assert alive == [False]
    assert [met.gradient >= 0 for met in step.parameters] == [True]
