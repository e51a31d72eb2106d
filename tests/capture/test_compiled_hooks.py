"""Hooks that compiled code registers: those on what it is given, which it registers in Python, and those in a graph."""

import pytest
import torch
import torch._dynamo
from torch import nn

import autograd_inspector
from tests.capture.observe import observe


@pytest.fixture(autouse=True)
def nothing_compiled():
    """Each test compiles from scratch."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def zeroed(grad):
    return grad * 0


def noted(leaf):
    leaf.grad.mul_(0.5)


def on_its_input(net, x):
    x.register_hook(zeroed)
    return net(x).sum()


def on_a_parameter(net, x):
    net[0].weight.register_hook(zeroed)
    return net(x).sum()


def after_a_break(net, x):
    h = torch.relu(net[0](x))
    torch._dynamo.graph_break()
    h.register_hook(zeroed)
    return net[1](h).sum()


def when_accumulated(net, x):
    net[0].weight.register_post_accumulate_grad_hook(noted)
    return net(x).sum()


WAYS = (on_its_input, on_a_parameter, after_a_break, when_accumulated)


def run_of(way, backend):
    """A training of two steps, whose loss is compiled."""
    torch.manual_seed(0)
    net, before = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1)), nn.Linear(3, 3)
    loss_of = torch.compile(way, backend=backend) if backend else way
    optimizer = torch.optim.SGD([*net.parameters(), *before.parameters()], lr=0.1)

    def run():
        for _ in range(2):
            optimizer.zero_grad()
            loss_of(net, before(torch.ones(2, 3))).backward()
            optimizer.step()

    return run


def hooks_of(capture):
    """(what it is on, its name, whether it runs after accumulation, how many alike were there) of each."""
    kinds = [capture.tensors[hook.tensor].kind for hook in capture.tensor_hooks]
    return [(kind, h.name, h.post, h.again) for kind, h in zip(kinds, capture.tensor_hooks, strict=True)]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_hooks_are_those_of_the_same_code_uncompiled(way, backend):
    """On the same tensors, as often; of one that Dynamo has registered the line is that of the hook's own code."""
    expected = hooks_of(observe(run_of(way, "")))
    torch._dynamo.reset()
    capture = observe(run_of(way, backend))
    assert hooks_of(capture) == expected
    assert len(expected) == 2
    lines = {capture.place(hook.site).source for hook in capture.tensor_hooks}
    assert lines == {"def noted(leaf):" if way is when_accumulated else "def zeroed(grad):"}


@pytest.mark.parametrize("way", [on_its_input, on_a_parameter, after_a_break], ids=lambda way: way.__name__)
def test_a_hook_that_zeroes_is_told(way):
    """AG306 names it, as it does uncompiled."""
    with autograd_inspector.inspect(values=True) as inspection:
        run_of(way, "eager")()
    told = [each for each in inspection.report.findings if each.rule == "AG306"]
    assert any("zeroed" in each.message and "zeros" in each.message for each in told)
