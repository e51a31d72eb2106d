"""A deep equilibrium model: the injection is computed inside the solver's no_grad, so the encoder learns nothing."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.linear = nn.Linear(dim, dim, bias=False)
        self.norm = nn.LayerNorm(dim)
        nn.init.orthogonal_(self.linear.weight, gain=0.5)

    def forward(self, z, injection):
        return self.norm(torch.tanh(self.linear(z) + injection))


def broyden_free(f, start, iterations=12, tolerance=1e-4):
    z = start
    for _ in range(iterations):
        following = f(z)
        if (following - z).norm() < tolerance * z.norm().clamp(min=1e-6):
            break
        z = 0.5 * (z + following)
    return z


class DEQ(nn.Module):
    def __init__(self, inputs=6, dim=10, classes=3):
        super().__init__()
        self.inject = nn.Sequential(nn.Linear(inputs, dim), nn.GELU(), nn.Linear(dim, dim))
        self.cell = Cell(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        with torch.no_grad():  # also
            injection = self.inject(x)  # cause
            z = broyden_free(lambda z: self.cell(z, injection), torch.zeros_like(injection))
        z = self.cell(z, injection)
        return self.head(z)


def run(epochs=3):
    torch.manual_seed(0)
    model = DEQ()
    x, y = torch.randn(24, 6), torch.randint(0, 3, (24,))
    before = model.inject[0].weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(epochs):
        for a, b in zip(x.split(8), y.split(8)):
            loss = F.cross_entropy(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.inject[0].weight, before


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the injection has no graph",
    names=("inject",),
    repair=("with torch.enable_grad():\n    injection = self.inject(x)",),
)
