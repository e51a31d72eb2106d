"""AG305: one graph differentiated twice, and a step that uses the sum."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def made():
    net = nn.Linear(4, 2)
    return net, torch.optim.SGD(net.parameters(), lr=0.1)


@pytest.mark.parametrize("rounds", [1, 3])
def test_backward_twice_on_a_kept_graph(rounds):
    """The second run adds the same gradients again: told once, at the second call."""

    def twice():
        net, optimizer = made()
        for _ in range(rounds):
            optimizer.zero_grad()
            loss = net(X).pow(2).mean()
            loss.backward(retain_graph=True)  # First.
            loss.backward()  # Second.
            optimizer.step()

    finding = diagnosed(twice, "AG305", "Second.", "`loss`", "weight", "twice", severity="warning")
    assert line_of(twice, "First.") in [place.lineno for place in finding.locations]


def test_backward_twice_in_a_closure():
    """A line search steps with twice the gradient as well."""

    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=3)

        def closure():
            optimizer.zero_grad()
            loss = net(X).pow(2).mean()
            loss.backward(retain_graph=True)
            loss.backward()  # Second.
            return loss

        optimizer.step(closure)

    diagnosed(program, "AG305", "Second.", "twice", severity="warning")


def cleared_between():
    net, optimizer = made()
    loss = net(X).pow(2).mean()
    loss.backward(retain_graph=True)
    print(float(net.weight.grad.norm()))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def row_by_row():
    net, optimizer = made()
    out = net(X).mean(dim=0)
    out.backward(torch.tensor([1.0, 0.0]), retain_graph=True)
    out.backward(torch.tensor([0.0, 1.0]))
    optimizer.step()


def part_by_part():
    net, optimizer = made()
    loss = net(X).pow(2).mean()
    loss.backward(inputs=[net.weight], retain_graph=True)
    loss.backward(inputs=[net.bias])
    optimizer.step()


def two_losses():
    net, optimizer = made()
    out = net(X)
    out.pow(2).mean().backward(retain_graph=True)
    out.abs().mean().backward()
    optimizer.step()


def looked_at():
    net, optimizer = made()
    loss = net(X).pow(2).mean()
    torch.autograd.grad(loss, net.weight, retain_graph=True)
    loss.backward()
    optimizer.step()


@pytest.mark.parametrize("program", [cleared_between, row_by_row, part_by_part, two_losses, looked_at])
def test_other_second_runs(program):
    """Cleared between, other gradients of the output, other parameters, another loss: as it should be."""
    calm(program)
