"""FFJORD: the trace estimate keeps the graph of the velocity, and has none of its own."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Velocity(nn.Module):
    def __init__(self, dim=2, hidden=20):
        super().__init__()
        self.inner = nn.Linear(dim + 1, hidden)
        self.outer = nn.Linear(hidden, dim)

    def forward(self, t, x):
        return self.outer(torch.tanh(self.inner(torch.cat([x, t.expand(len(x), 1)], 1))))


class Flow(nn.Module):
    def __init__(self, steps=4):
        super().__init__()
        self.velocity = Velocity()
        self.steps = steps

    def divergence(self, dx, x, noise):
        vjp = torch.autograd.grad(dx, x, noise, retain_graph=True)[0]  # cause
        return (vjp * noise).sum(1)

    def forward(self, x):
        noise = torch.randn_like(x)
        total = x.new_zeros(len(x))
        dt = 1 / self.steps
        x = x.requires_grad_()
        for step in range(self.steps):
            dx = self.velocity(torch.tensor([step * dt]), x)
            total = total - dt * self.divergence(dx, x, noise)
            x = x + dt * dx
        return x, total


def run():
    torch.manual_seed(0)
    flow = Flow()
    opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
    base = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    for _ in range(3):
        z, log_det = flow(torch.randn(32, 2) * 0.3 + 1)
        loss = -(base.log_prob(z) - log_det).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return log_det.requires_grad


def verify(out):
    assert out is False


TRUTH = Truth(
    fault="the change of density is a constant for the optimizer",
    minor=True,
    names=("create_graph",),
    repair=("vjp = torch.autograd.grad(dx, x, noise, create_graph=True)[0]",),
)
