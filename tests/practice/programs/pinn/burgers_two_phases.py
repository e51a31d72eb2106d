"""A physics-informed net: derivatives by grad with their graph kept, Adam first, then L-BFGS by a closure."""

import math

import torch
from torch import nn

from tests.practice.truth import Truth


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], 1))


def derivative(u, v):
    return torch.autograd.grad(u, v, torch.ones_like(u), create_graph=True)[0]


def residual(model, x, t, nu=0.01 / math.pi):
    u = model(x, t)
    u_t, u_x = derivative(u, t), derivative(u, x)
    return u_t + u * u_x - nu * derivative(u_x, x)


def run():
    torch.manual_seed(0)
    model = PINN()
    x0 = torch.linspace(-1, 1, 16)[:, None]
    u0 = -torch.sin(math.pi * x0)
    xb, tb = torch.cat([torch.full((8, 1), -1.0), torch.ones(8, 1)]), torch.rand(16, 1)
    xf = (torch.rand(32, 1) * 2 - 1).requires_grad_()
    tf = torch.rand(32, 1).requires_grad_()
    history = []

    def loss_fn():
        data = (model(x0, torch.zeros_like(x0)) - u0).pow(2).mean() + model(xb, tb).pow(2).mean()
        return data + residual(model, xf, tf).pow(2).mean()

    adam = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(3):
        adam.zero_grad()
        loss = loss_fn()
        loss.backward()
        adam.step()
        history.append(loss.item())
    lbfgs = torch.optim.LBFGS(model.parameters(), max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = loss_fn()
        loss.backward()
        return loss

    for _ in range(2):
        history.append(lbfgs.step(closure).item())
    with torch.no_grad():
        l2 = (model(x0, torch.zeros_like(x0)) - u0).norm() / u0.norm()
    return model, history, l2.item()


TRUTH = Truth()


def verify(out):
    model, history, l2 = out
    assert history[-1] < history[0] and 0 < l2 < 10
    assert all(p.grad is not None for p in model.parameters())
