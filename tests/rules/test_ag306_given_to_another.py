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


def test_for_another():
    """Lists of unequal length, and lists in another order."""
    for frozen, asked, given, owner in (((0,), learning, every, "blocks.1"), ((), every, turned, "blocks.2")):
        names = ("blocks.0", owner)
        diagnosed(training(frozen, asked, given), "AG306", "# Assigned.", *names, severity="warning", where=training)


def test_for_its_own():
    """The same list twice; a clone's gradients."""
    calm(training((0,), learning, learning), training((), every, every), of_a_clone)
