"""AG303: a loss that is computed with second derivatives of a network that is piecewise linear."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


def residual(activation, *, features=False, second=True, penalty=False):
    """An equation of second order, and the values at the border; or a penalty on the first derivative."""
    net = nn.Sequential(nn.Linear(2, 8), activation, nn.Linear(8, 8), activation, nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        x = torch.rand(6, 2, requires_grad=True)
        u = net(x.sin() if features else x)
        (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
        loss = net(torch.rand(4, 2)).pow(2).mean()
        if second:
            (ddu,) = torch.autograd.grad(du[:, 0].sum(), x, create_graph=True)  # Asked.
            loss = loss + (ddu[:, 0] + 1).pow(2).mean()
        if penalty:
            loss = loss + du.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("activation", [nn.ReLU(), nn.LeakyReLU(), nn.ReLU6(), nn.Hardtanh()])
def test_second_derivatives_of_a_piecewise_linear_network(activation):
    """They are zero everywhere, although the parameters learn from the border: told where they are asked for."""
    diagnosed(
        lambda: residual(activation), "AG303", "u = net(", "second derivative", "nn.Tanh()",
        severity="warning", where=residual,
    )  # fmt: skip


def test_networks_that_have_second_derivatives():
    """Curved activations, curved features of the input; and first derivatives are all that a penalty needs."""
    calm(
        lambda: residual(nn.Tanh()),
        lambda: residual(nn.Softplus()),
        lambda: residual(nn.ReLU(), features=True),
        lambda: residual(nn.ReLU(), second=False, penalty=True),
    )
