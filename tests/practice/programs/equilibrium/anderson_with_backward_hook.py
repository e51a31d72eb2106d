"""A deep equilibrium model: Anderson's memory is filled in place without gradients, and a hook solves backward."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def anderson(f, start, m=4, lam=1e-4, iterations=20, tolerance=1e-4, beta=1.0):
    b, d = start.shape
    xs, fs = torch.zeros(b, m, d), torch.zeros(b, m, d)
    xs[:, 0], fs[:, 0] = start, f(start)
    xs[:, 1], fs[:, 1] = fs[:, 0], f(fs[:, 0])
    h = torch.zeros(b, m + 1, m + 1)
    h[:, 0, 1:] = h[:, 1:, 0] = 1
    y = torch.zeros(b, m + 1, 1)
    y[:, 0] = 1
    for k in range(2, iterations):
        n = min(k, m)
        g = fs[:, :n] - xs[:, :n]
        h[:, 1 : n + 1, 1 : n + 1] = torch.bmm(g, g.transpose(1, 2)) + lam * torch.eye(n)
        alpha = torch.linalg.solve(h[:, : n + 1, : n + 1], y[:, : n + 1])[:, 1 : n + 1, 0]
        xs[:, k % m] = beta * (alpha[:, None] @ fs[:, :n])[:, 0] + (1 - beta) * (alpha[:, None] @ xs[:, :n])[:, 0]
        fs[:, k % m] = f(xs[:, k % m].clone())
        if (fs[:, k % m] - xs[:, k % m]).norm() < tolerance * (1e-5 + fs[:, k % m].norm()):
            break
    return xs[:, k % m].clone()


class DEQ(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.inject, self.mix, self.head = nn.Linear(5, dim), nn.Linear(dim, dim), nn.Linear(dim, 2)
        with torch.no_grad():
            self.mix.weight.mul_(0.4)

    def cell(self, z, u):
        return torch.tanh(self.mix(z) + u)

    def forward(self, x):
        u = self.inject(x)
        with torch.no_grad():
            z = anderson(lambda z: self.cell(z, u), torch.zeros_like(u))
        z = self.cell(z, u)
        if self.training:
            z0 = z.detach().requires_grad_()
            f0 = self.cell(z0, u)

            def backward_hook(grad):
                solve = lambda y: torch.autograd.grad(f0, z0, y, retain_graph=True)[0] + grad
                return anderson(solve, grad, iterations=12)

            z.register_hook(backward_hook)
        return self.head(z)


def run(steps=3):
    torch.manual_seed(0)
    model = DEQ()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(steps):
        loss = F.cross_entropy(model(torch.randn(6, 5)), torch.randint(0, 2, (6,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


TRUTH = Truth()


def verify(model):
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
