"""Heat equation: the time that the network sees is detached, and `allow_unused` turns the missing derivative into 0."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Heat(nn.Module):
    def __init__(self, frequencies=4):
        super().__init__()
        self.register_buffer("b", torch.randn(1, frequencies))
        self.body = nn.Sequential(nn.Linear(2 * frequencies + 1, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x, t):
        angle = 2 * torch.pi * x @ self.b
        scaled = (t.detach() - 0.5) / 0.29  # cause
        return self.body(torch.cat([angle.sin(), angle.cos(), scaled], 1))


def slope(u, z):
    grad = torch.autograd.grad(u.sum(), z, create_graph=True, allow_unused=True)[0]
    return torch.zeros_like(z) if grad is None else grad


def run():
    torch.manual_seed(0)
    model = Heat()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(3):
        x = torch.rand(48, 1, requires_grad=True)
        t = torch.rand(48, 1, requires_grad=True)
        u = model(x, t)
        u_t, u_x = slope(u, t), slope(u, x)
        u_xx = slope(u_x, x)
        initial = model(x, torch.zeros_like(t)) - torch.sin(torch.pi * x)
        loss = (u_t - 0.1 * u_xx).pow(2).mean() + initial.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return u_t


def verify(out):
    assert (out == 0).all()


TRUTH = Truth(
    fault="u does not depend on t as autograd sees it",
    names=("detach",),
    repair=("scaled = (t - 0.5) / 0.29",),
)
