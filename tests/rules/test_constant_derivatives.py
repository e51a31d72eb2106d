"""AG101: a second derivative without a graph of its own, in the residual of an equation."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

T = torch.linspace(0, 1, 8)[:, None]


def trained(residual):
    """A network that is fitted to an equation and to its boundary value."""

    def program():
        net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            t = T.clone().requires_grad_(True)
            loss = residual(net, t).pow(2).mean() + net(T[:1]).pow(2).mean()
            loss.backward()
            optimizer.step()

    return program


def d(y, x, **options):
    return torch.autograd.grad(y.sum(), x, **options)[0]


def oscillator(net, t):
    y = net(t)
    slope = d(y, t, create_graph=True)
    curvature = torch.autograd.grad(slope.sum(), t, retain_graph=True)[0]  # Without a graph.
    return curvature + 0.1 * slope + 4 * y


def subtracted(net, t):
    y = net(t)
    slope = d(y, t, create_graph=True)
    curvature = torch.autograd.grad(slope, t, torch.ones_like(slope), retain_graph=True)  # Without a graph.
    return slope - 0.01 * curvature[0]


@pytest.mark.parametrize("residual", [oscillator, subtracted])
def test_second_derivative_without_graph(residual):
    """Its term is a constant for the network, which learns from the other terms."""
    diagnosed(
        trained(residual), "AG101", "Without a graph.", "create_graph", "0.weight", severity="warning", where=residual
    )


def with_graphs(net, t):
    y = net(t)
    slope = d(y, t, create_graph=True)
    return d(slope, t, create_graph=True) + y


def only_printed(net, t):
    y = net(t)
    slope = d(y, t, create_graph=True)
    print(float(d(slope, t, retain_graph=True).mean()))
    return slope + y


def weighed(net, t):
    y = net(t)
    slope = d(y, t, create_graph=True)
    weight = 1 / (1 + d(slope, t, retain_graph=True).abs())
    return weight * (slope + y)


def perturbed(net, t):
    direction = d(net(t).pow(2), t).sign()
    return net(t + 0.01 * direction)


@pytest.mark.parametrize("residual", [with_graphs, only_printed, weighed, perturbed])
def test_derivatives_that_are_meant_as_numbers(residual):
    """With a graph, printed, a weight of what carries gradient, or the direction of an attack."""
    calm(trained(residual))
