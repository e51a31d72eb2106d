"""A wave equation: the derivative is asked with respect to a copy that the network was not given."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Solver(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
        self.speed = nn.Parameter(torch.tensor(0.7))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]  # symptom


def residual(model, x, t):
    u = model(x, t)
    x, t = x.clone().requires_grad_(), t.clone().requires_grad_()  # cause
    u_xx = derivative(derivative(u, x), x)
    u_tt = derivative(derivative(u, t), t)
    return u_tt - model.speed**2 * u_xx


def run():
    torch.manual_seed(0)
    model = Solver()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(2):
        x, t = torch.rand(32, 1), torch.rand(32, 1)
        x0 = torch.rand(16, 1)
        start = model(x0, torch.zeros(16, 1)) - torch.sin(torch.pi * x0)
        opt.zero_grad()
        loss = residual(model, x, t).pow(2).mean() + 10 * start.pow(2).mean()
        loss.backward()
        opt.step()


TRUTH = Truth(
    fault="the copies are made after the forward pass, which does not know them",
    raises="The differentiated Tensor at index 0 appears to not have been used in the graph",
    repair=("x, t = x.requires_grad_(), t.requires_grad_()\nu = model(x, t)",),
)
