"""A heat equation: the time derivative is detached, so the residual teaches by the second derivative alone."""

import torch
from torch import nn

from tests.practice.truth import Truth


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for _ in range(2):
        t, x = torch.rand(16, 1, requires_grad=True), torch.rand(16, 1, requires_grad=True)
        u = net(torch.cat([t, x], 1))
        u_t = derivative(u, t).detach()  # cause
        u_x = derivative(u, x)
        u_xx = derivative(u_x, x)
        residual = (u_t - 0.1 * u_xx).pow(2).mean()
        x0 = torch.rand(16, 1)
        start = (net(torch.cat([torch.zeros_like(x0), x0], 1)) - torch.sin(3.14 * x0)).pow(2).mean()
        opt.zero_grad()
        (residual + start).backward()
        opt.step()
    return u_t.requires_grad


def verify(linked):
    assert not linked


TRUTH = Truth(
    fault="the derivative in time is a constant of the residual",
    names=("detach",),
    minor=True,
    repair=("u_t = derivative(u, t)",),
)
