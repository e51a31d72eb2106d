"""A deep equilibrium model finds the fixed point without grad, and forgets the one step with grad."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Equilibrium(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.inject = nn.Linear(8, 8), nn.Linear(4, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        u = self.inject(x)
        z = torch.zeros(len(x), 8)
        with torch.no_grad():  # cause
            for _ in range(10):
                z = torch.tanh(0.5 * self.cell(z) + u)
        return self.head(z)


def run():
    torch.manual_seed(0)
    model = Equilibrium()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(2):
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return model.cell.weight.grad


def verify(out):
    assert out is None


TRUTH = Truth(fault="the cell is only run without grad", names=("cell.weight",), repair=("if True:",))
