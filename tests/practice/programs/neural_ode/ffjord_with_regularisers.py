"""FFJORD: the trace is estimated with a graph; kinetic energy and Jacobian norm are penalised."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class Velocity(nn.Module):
    def __init__(self, dim=2, hidden=20):
        super().__init__()
        self.inner, self.gate = nn.Linear(dim, hidden), nn.Linear(1, hidden)
        self.outer = nn.Linear(hidden, dim)
        self.calls = 0

    def forward(self, t, x):
        self.calls += 1
        return self.outer(torch.tanh(self.inner(x)) * torch.sigmoid(self.gate(t.view(1, 1))))


def dynamics(velocity, t, x, noise):
    with torch.enable_grad():
        if not x.requires_grad:
            x = x.requires_grad_()
        dx = velocity(t, x)
        vjp = torch.autograd.grad(dx, x, noise, create_graph=True)[0]
    return dx, (vjp * noise).sum(1), dx.pow(2).sum(1), vjp.pow(2).sum(1)


def integrate(velocity, x, steps=4):
    noise = torch.randint(0, 2, x.shape).float() * 2 - 1
    totals = [torch.zeros(len(x)) for _ in range(3)]
    for step in range(steps):
        t = torch.tensor(step / steps)
        dx, *rates = dynamics(velocity, t, x, noise)
        x = x + dx / steps
        totals = [total + rate / steps for total, rate in zip(totals, rates)]
    return x, totals


def run():
    torch.manual_seed(0)
    velocity = Velocity()
    opt = torch.optim.Adam(velocity.parameters(), lr=1e-3)
    for _ in range(3):
        x = torch.randn(24, 2) * 0.5 + 1
        velocity.calls = 0
        z, (trace, kinetic, jacobian) = integrate(velocity, x)
        prior = -0.5 * (z**2).sum(1) - math.log(2 * math.pi)
        loss = -(prior + trace).mean() + 0.01 * kinetic.mean() + 0.01 * jacobian.mean()
        opt.zero_grad()
        loss.backward()
        grad_norm = nn.utils.clip_grad_norm_(velocity.parameters(), 10.0)
        opt.step()
        print(f"{loss.item() / math.log(2):.3f} bits, {velocity.calls} calls, gradient {grad_norm:.3f}")
    with torch.no_grad():
        sample = torch.randn(4, 2)
        for step in range(4):
            sample = sample - velocity(torch.tensor(1 - step / 4), sample) / 4


TRUTH = Truth()
