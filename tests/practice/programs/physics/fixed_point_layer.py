"""Physics: a deep equilibrium layer solves under no_grad, attaches one step and replaces the gradient in a hook; all right."""

import torch
import torch.nn.functional as F
from torch import autograd, nn

from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.w = nn.Linear(dim, dim, bias=False)
        self.u = nn.Linear(dim, dim)
        with torch.no_grad():
            self.w.weight.mul_(0.3)

    def forward(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))


def solve(f, z, steps):
    for _ in range(steps):
        z = f(z)
    return z


class Equilibrium(nn.Module):
    def __init__(self, cell, steps=60):
        super().__init__()
        self.cell, self.steps = cell, steps

    def forward(self, x):
        with torch.no_grad():
            z = solve(lambda z: self.cell(z, x), torch.zeros_like(x), self.steps)
        z = self.cell(z, x)
        if self.training:
            z0 = z.detach().requires_grad_(True)
            f0 = self.cell(z0, x)

            def hook(grad):
                return solve(lambda g: autograd.grad(f0, z0, g, retain_graph=True)[0] + grad, grad, self.steps)

            z.register_hook(hook)
        return z


class Relaxation(nn.Module):
    """From a disturbed state to the settled one."""

    def __init__(self, inp=6, dim=8):
        super().__init__()
        self.inject = nn.Linear(inp, dim)
        self.settle = Equilibrium(Cell(dim))
        self.read = nn.Linear(dim, 2)

    def forward(self, x):
        return self.read(self.settle(self.inject(x)))


def unrolled(model, x, y):
    """The same gradient through all steps of the iteration."""
    h = model.inject(x)
    z = solve(lambda z: model.settle.cell(z, h), torch.zeros_like(h), model.settle.steps)
    return autograd.grad(F.mse_loss(model.read(z), y), list(model.parameters()))


def run():
    torch.manual_seed(0)
    model = Relaxation().double().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    agree = []
    for _ in range(3):
        x, y = torch.randn(10, 6).double(), torch.randn(10, 2).double()
        wanted = unrolled(model, x, y)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        agree.append(all(torch.allclose(w, p.grad, atol=1e-7) for w, p in zip(wanted, model.parameters())))
        optimizer.step()
    return agree, {n: torch.equal(before[n], p) for n, p in model.named_parameters()}


def verify(outcome):
    agree, same = outcome
    assert all(agree)
    assert not any(same.values())


TRUTH = Truth()
