"""A PINN takes its derivative by `backward()` and `.grad`, which has no graph."""

import torch
from torch import nn

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, t):
        return self.net(t)


def residual(model, t):
    t = t.clone().requires_grad_(True)
    u = model(t)
    u.sum().backward(retain_graph=True)  # cause
    du = t.grad  # cause
    return du + 2.0 * u


def run():
    torch.manual_seed(0)
    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    depends = []
    for _ in range(3):
        optimizer.zero_grad()
        t = torch.rand(12, 1)
        r = residual(model, t)
        initial = model(torch.zeros(1, 1)) - 1.0
        loss = r.pow(2).mean() + initial.pow(2).mean()
        loss.backward()
        optimizer.step()
        depends.append(r.detach())
    t = torch.rand(12, 1)
    model.zero_grad()
    residual(model, t).sum().backward()
    mine = model.net[0].weight.grad.clone()
    x = t.clone().requires_grad_(True)
    u = model(x)
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (right,) = torch.autograd.grad((du + 2.0 * u).sum(), model.net[0].weight)
    return mine, right


TRUTH = Truth(
    fault="the derivative is a constant for the loss",
    repair=("pass", "(du,) = torch.autograd.grad(u.sum(), t, create_graph=True)"),
)


def verify(grads):
    assert not torch.allclose(*grads, rtol=1e-3)
