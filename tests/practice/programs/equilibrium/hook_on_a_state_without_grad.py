"""The implicit backward is a hook, registered on the state that the solver found without grad."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Equilibrium(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.inject = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        u = self.inject(x)
        with torch.no_grad():
            z = torch.zeros_like(u)
            for _ in range(10):
                z = torch.tanh(0.5 * self.cell(z) + u)  # also
        new_z = z  # cause
        new_z.register_hook(lambda grad: grad * 1.5)  # symptom
        return new_z


def run():
    torch.manual_seed(0)
    model = Equilibrium()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


TRUTH = Truth(
    fault="the state was computed without grad",
    raises="cannot register a hook on a tensor that doesn't require gradient",
    repair=("new_z = torch.tanh(0.5 * self.cell(z) + u)",),
)
