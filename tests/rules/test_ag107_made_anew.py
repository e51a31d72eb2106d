"""AG107: forward computes with copies of registered parameters, which get the gradients in their place."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import alarms, diagnosed, inspected
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Copying(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return copy.deepcopy(self.head)(self.first(x).relu())  # Copied.


class Wrapping(Copying):
    def forward(self, x):
        return nn.functional.linear(self.first(x).relu(), nn.Parameter(self.head.weight), self.head.bias)  # Wrapped.


def followed(kind):
    """Trained towards a target network that follows it by `.data`, and that acts without gradients."""
    net = kind()
    target, optimizer = copy.deepcopy(net), torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        with torch.no_grad():
            best = net(X).argmax(1)
        aim = target(X).detach().max(1).values
        for slow, fast in zip(target.parameters(), net.parameters(), strict=True):
            slow.data.copy_(0.9 * slow.data + 0.1 * fast.data)
        optimizer.zero_grad()
        (net(X).gather(1, best[:, None])[:, 0] - aim).pow(2).mean().backward()
        optimizer.step()


def test_copies_of_a_module():
    """The copy is to blame, and no cut elsewhere that the parameters' values also go through."""

    def program():
        followed(Copying)

    diagnosed(
        program,
        "AG107",
        "Copied.",
        "copies of net.head.weight, net.head.bias",
        severity="warning",
        where=Copying.forward,
    )
    assert [finding.rule for finding in alarms(inspected(program))] == ["AG107"]


def test_a_parameter_in_the_memory_of_another():
    """`nn.Parameter(w)` shares the values of `w`: the line that computes with it is named."""

    def program():
        followed(Wrapping)

    diagnosed(program, "AG107", "Wrapped.", "a copy of net.head.weight", severity="warning", where=Wrapping.forward)
    assert [finding.rule for finding in alarms(inspected(program))] == ["AG107"]


def evaluated():
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            copy.deepcopy(net)(X)


def test_copies_beside_the_training():
    """A copy that evaluates takes nothing from the parameters that learn."""
    calm(evaluated)
