"""A training step that is compiled whole: what Python does between its graphs is recorded in its order."""

import pytest
import torch
import torch._dynamo
from torch import nn

from autograd_inspector.model.program_events import ZeroGradCalled
from tests.capture.observe import observe


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def order_of(capture):
    """Backwards, clearings and steps in their order; of a step how many parameters had a gradient."""
    found = [(run.start, 0, run.api) for run in capture.backwards]
    found += [(call.at, 1, "zero_grad") for call in capture.events_of(ZeroGradCalled)]
    found += [(step.at, 2, (step.optimizer, sum(p.gradient >= 0 for p in step.parameters))) for step in capture.steps]
    return [what for _, _, what in sorted(found, key=lambda each: each[:2])]


def observed(step_of, backend):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizers = torch.optim.AdamW(net.parameters(), lr=0.1), torch.optim.SGD(net.parameters(), lr=0.1)
    step = step_of(net, *optimizers)
    compiled = torch.compile(step, backend=backend) if backend else step
    return observe(lambda: [compiled(torch.ones(2, 3)) for _ in range(3)])


def cleared_first(net, optimizer, _):
    def step(x):
        optimizer.zero_grad()
        net(x).pow(2).sum().backward()
        optimizer.step()

    return step


def cleared_last(net, optimizer, _):
    def step(x):
        net(x).pow(2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def cleared_before_the_step(net, _, optimizer):
    def step(x):
        loss = net(x).pow(2).sum()
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        return loss.detach()

    return step


def two_optimizers(net, first, second):
    def step(x):
        loss = net(x).pow(2).sum()
        loss.backward()
        first.step()
        second.step()
        first.zero_grad()
        second.zero_grad()
        return loss.item()

    return step


def two_steps(net, optimizer, _):
    def step(x):
        net(x).pow(2).sum().backward()
        optimizer.step()
        net(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "step_of",
    [cleared_first, cleared_last, cleared_before_the_step, two_optimizers, two_steps],
    ids=lambda step_of: step_of.__name__,
)
def test_the_order_of_a_compiled_step(step_of, backend):
    """It is that of the same step uncompiled, and each step of an optimizer has as many gradients."""
    expected = order_of(observed(step_of, ""))
    assert order_of(observed(step_of, backend)) == expected
    assert sum(type(each) is tuple for each in expected) >= 3


def test_a_compiled_step_that_has_no_gradient_moves_nothing():
    """Its gradients were cleared: the step is there, at its line, and is no failed one."""
    capture = observed(cleared_before_the_step, "aot_eager")
    assert [capture.place(step.site).source for step in capture.steps] == ["optimizer.step()"] * 3
    assert {(step.error, p.gradient) for step in capture.steps for p in step.parameters} == {("", -1)}
    assert [record.steps for record in capture.placement.optimizers if record.type == "SGD"] == [3]
    assert capture.grad_reads == ()
