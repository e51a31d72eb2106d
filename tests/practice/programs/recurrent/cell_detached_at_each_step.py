"""A recurrent cell is unrolled with its state detached at each time step: it learns to remember nothing."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Unrolled(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.embed = nn.Linear(1, hidden)
        self.cell = nn.GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, 1)
        self.hidden = hidden

    def forward(self, x):
        h = torch.zeros(x.shape[0], self.hidden)
        for t in range(x.shape[1]):
            h = self.cell(self.embed(x[:, t]), h.detach())  # cause
        return self.out(h)


def run():
    torch.manual_seed(0)
    model = Unrolled()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(8, 6, 1)
        loss = (model(x) - x[:, 0]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x = torch.randn(8, 6, 1, requires_grad=True)
    return torch.autograd.grad(model(x).sum(), x)[0]


TRUTH = Truth(
    fault="no gradient goes back in time",
    minor=True,
    repair=("h = self.cell(self.embed(x[:, t]), h)",),
)


def verify(grad):
    assert not grad[:, :-1].any()
