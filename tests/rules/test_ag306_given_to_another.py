"""AG306: gradients that were computed for one parameter and assigned to another."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(4, 4, bias=False) for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = x + block(x).tanh()
        return x


def training(frozen, asked, given):
    """Three steps of a net with ``frozen`` blocks: gradients of what is ``asked``, ``given`` to others."""

    def run():
        net = Net()
        weights = list(net.parameters())
        for number in frozen:
            weights[number].requires_grad_(False)
        optimizer = torch.optim.SGD(weights, lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            gradients = torch.autograd.grad(net(X).pow(2).mean(), asked(weights))
            for p, gradient in zip(given(weights), gradients, strict=False):
                p.grad = gradient  # Assigned.
            optimizer.step()

    return run


def every(weights):
    return weights


def learning(weights):
    return [p for p in weights if p.requires_grad]


def turned(weights):
    return weights[::-1]


def of_a_clone():
    """First-order meta learning: the gradients of an adapted clone are the model's."""
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        clone = copy.deepcopy(net)
        inner = torch.optim.SGD(clone.parameters(), lr=0.1)
        clone(X).pow(2).mean().backward()
        inner.step()
        gradients = torch.autograd.grad(clone(X).pow(2).mean(), list(clone.parameters()))
        for p, gradient in zip(net.parameters(), gradients, strict=True):
            p.grad = gradient
        optimizer.step()


def functional(order, given, *, compiled=False):
    """Steps with gradients of torch.func.grad, by names in that ``order``, and parameters in the one of ``given``."""

    def run():
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        gradients = torch.func.grad(lambda params: torch.func.functional_call(net, params, (X,)).pow(2).mean())
        gradients = torch.compile(gradients, backend="aot_eager") if compiled else gradients
        for _ in range(3):
            grads = gradients({name: p.detach() for name, p in order(list(net.named_parameters()))})
            for (_, p), gradient in zip(given(list(net.named_parameters())), grads.values(), strict=True):
                p.grad = gradient  # Assigned.
            optimizer.step()

    return run


def of_copies():
    """Gradients of copies, which are in another order, are looked up by their names."""
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    gradients = torch.func.grad(lambda params: torch.func.functional_call(net, params, (X,)).pow(2).mean())
    for _ in range(3):
        grads = gradients({name: p.detach().clone() for name, p in reversed(list(net.named_parameters()))})
        for name, p in net.named_parameters():
            p.grad = grads[name]
        optimizer.step()


def each_per_sample():
    """Means of per-sample gradients."""
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def loss(params, x):
        return torch.func.functional_call(net, params, (x[None],)).pow(2).mean()

    for _ in range(3):
        params = {name: p.detach() for name, p in net.named_parameters()}
        grads = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(params, X)
        for name, p in net.named_parameters():
            p.grad = grads[name].mean(0)
        optimizer.step()


def test_for_another():
    """Lists of unequal length, and lists in another order."""
    for frozen, asked, given, owner in (((0,), learning, every, "blocks.1"), ((), every, turned, "blocks.2")):
        names = ("blocks.0", owner)
        diagnosed(training(frozen, asked, given), "AG306", "# Assigned.", *names, severity="warning", where=training)


def test_of_a_function():
    """torch.func.grad returns them by name, and zip() takes them in another order; compiled as well."""
    for compiled in (False, True):
        program = functional(turned, every, compiled=compiled)
        names = "torch.func.grad()", "blocks.0", "blocks.2"
        diagnosed(program, "AG306", "# Assigned.", *names, severity="warning", where=functional)


def test_of_a_function_for_its_own():
    """The order of one dict, also a reversed one; copies, by their names; per-sample gradients."""
    calm(functional(every, every), functional(turned, turned), of_copies, each_per_sample)


def test_for_its_own():
    """The same list twice; a clone's gradients."""
    calm(training((0,), learning, learning), training((), every, every), of_a_clone)
