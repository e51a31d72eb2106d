"""Physics-informed net for Burgers' equation: a ReLU net has no second derivative, the viscous term is zero."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self, width=24, depth=3, activation=nn.ReLU):  # cause
        super().__init__()
        layers = [nn.Linear(2, width), activation()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), activation()]
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)
        self.log_nu = nn.Parameter(torch.tensor(math.log(0.05)))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))  # also


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(model, x, t):
    x, t = x.requires_grad_(), t.requires_grad_()
    u = model(x, t)
    u_x, u_t = derivative(u, x), derivative(u, t)
    u_xx = derivative(u_x, x)
    return u_t + u * u_x - model.log_nu.exp() * u_xx, u_xx


def initial_condition(model, n=32):
    x = torch.rand(n, 1) * 2 - 1
    return (model(x, torch.zeros_like(x)) + torch.sin(math.pi * x)).square().mean()


def boundary(model, n=16):
    t = torch.rand(n, 1)
    left, right = model(-torch.ones_like(t), t), model(torch.ones_like(t), t)
    return left.square().mean() + right.square().mean()


def run():
    """The inverse problem: the viscosity is learned together with the solution."""
    torch.manual_seed(0)
    model = PINN()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    nu = model.log_nu.item()
    curvature = []
    for _ in range(4):
        x, t = torch.rand(64, 1) * 2 - 1, torch.rand(64, 1)
        res, u_xx = residual(model, x, t)
        loss = res.square().mean() + initial_condition(model) + boundary(model)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        curvature.append(u_xx.abs().max().item())
    return nu, model.log_nu.item(), curvature


def verify(outcome):
    before, after, curvature = outcome
    assert max(curvature) == 0.0 and before == after


TRUTH = Truth(
    fault="the second derivative of a ReLU net is zero: u_xx vanishes and log_nu gets a gradient of zero",
    names=("log_nu", "ReLU"),
    repair=("def __init__(self, width=24, depth=3, activation=nn.Tanh):",),
)
