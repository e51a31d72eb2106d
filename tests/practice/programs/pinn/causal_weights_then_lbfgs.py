"""A physics-informed net with a hard boundary and detached causal weights, trained by Adam and then by L-BFGS."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Ansatz(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, t, x):
        inner = t * torch.sin(torch.pi * x) * self.net(torch.cat([t, x], -1))
        return torch.sin(torch.pi * x) + inner


def grad(u, v):
    return torch.autograd.grad(u.sum(), v, create_graph=True)[0]


def heat_residual(model, t, x, nu=0.1):
    u = model(t, x)
    return grad(u, t) - nu * grad(grad(u, x), x)


def causal_loss(model, slices=4, points=8, epsilon=1.0):
    edges = torch.linspace(0, 1, slices + 1)
    terms = []
    for low, high in zip(edges, edges[1:]):
        t = (low + (high - low) * torch.rand(points, 1)).requires_grad_()
        x = torch.rand(points, 1, requires_grad=True)
        terms.append(heat_residual(model, t, x).pow(2).mean())
    terms = torch.stack(terms)
    with torch.no_grad():
        past = torch.cat([torch.zeros(1), terms.cumsum(0)[:-1]])
        weights = torch.exp(-epsilon * past)
    return (weights * terms).mean()


def run(adam=4, lbfgs=2):
    torch.manual_seed(0)
    model = Ansatz()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(adam):
        optimizer.zero_grad()
        loss = causal_loss(model)
        loss.backward()
        optimizer.step()
    second = torch.optim.LBFGS(model.parameters(), max_iter=4, history_size=5, line_search_fn="strong_wolfe")
    t, x = torch.rand(16, 1).requires_grad_(), torch.rand(16, 1).requires_grad_()
    history = []

    def closure():
        second.zero_grad()
        loss = heat_residual(model, t, x).pow(2).mean()
        loss.backward()
        history.append(loss.item())
        return loss

    for _ in range(lbfgs):
        second.step(closure)
    return history


TRUTH = Truth()


def verify(history):
    assert history[-1] <= history[0]
