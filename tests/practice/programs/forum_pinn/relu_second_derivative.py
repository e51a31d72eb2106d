"""PINN for a heat equation: a ReLU network has no second derivative, and materialize_grads hides the missing term as zeros."""

import math

import torch
import torch.nn as nn
from torch.autograd import grad

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self, width=16, depth=2, act=nn.ReLU):  # cause
        super().__init__()
        layers, n = [], 2
        for _ in range(depth):
            layers += [nn.Linear(n, width), act()]
            n = width
        self.net = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(y, x):
    # "One of the differentiated Tensors appears to not have been used" -> answer: allow it
    return grad(y, x, torch.ones_like(y), create_graph=True, materialize_grads=True)[0]  # also


class HeatProblem:
    alpha = 0.1

    def residual(self, model, x, t):
        u = model(x, t)
        u_t = derivative(u, t)
        u_x = derivative(u, x)
        u_xx = derivative(u_x, x)  # also
        return u_t - self.alpha * u_xx, u_xx

    def initial(self, model, x):
        u0 = model(x, torch.zeros_like(x))
        return (u0 - torch.sin(math.pi * x)).pow(2).mean()


def collocation(n):
    x = torch.rand(n, 1, requires_grad=True)
    t = torch.rand(n, 1, requires_grad=True)
    return x, t


def run():
    torch.manual_seed(0)
    model = PINN()
    problem = HeatProblem()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    second = []
    for it in range(4):
        x, t = collocation(20)
        r, u_xx = problem.residual(model, x, t)
        loss = r.pow(2).mean() + problem.initial(model, torch.rand(20, 1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        second.append(u_xx.abs().max().item())
    return second


def verify(second):
    assert max(second) == 0.0, second


TRUTH = Truth(
    fault="the second derivative of a ReLU network is zero everywhere, so the diffusion term of the residual is missing",
    names=("ReLU",),
    repair=("def __init__(self, width=16, depth=2, act=nn.Tanh):",),
)
