"""A hard boundary condition: the factor of the ansatz is computed from a detached x, so u_x lacks its derivative."""

import torch
from torch import nn

from tests.practice.truth import Truth


class HardBoundary(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, x):
        distance = torch.sin(torch.pi * x.detach())  # cause
        return distance * self.net(x)


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def residual(model, x):
    u = model(x)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return u_xx + torch.pi**2 * torch.sin(torch.pi * x)


def run(steps=3):
    torch.manual_seed(0)
    model = HardBoundary()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    for _ in range(steps):
        x = torch.rand(32, 1).requires_grad_(True)
        loss = residual(model, x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    x = torch.full((1, 1), 0.3, requires_grad=True)
    exact = derivative(model(x), x).item()
    with torch.no_grad():
        h = 1e-3
        estimate = ((model(x + h) - model(x - h)) / (2 * h)).item()
    return exact, estimate


def verify(out):
    exact, estimate = out
    assert abs(exact - estimate) > 1e-2


TRUTH = Truth(
    fault="the derivative that the residual uses is not that of the solution",
    names=("detach",),
    repair=("distance = torch.sin(torch.pi * x)",),
)
