"""Distances of a compiled graph layer: the root at 0 is hidden by where(), and its gradient is not."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG304"
NAMES = ()
VALUES = True


class Distances(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.score = nn.Linear(3, 4), nn.Linear(1, 1)

    def forward(self, points):
        h = self.embed(points)
        square = (h[:, None] - h[None]).pow(2).sum(-1)
        apart = torch.where(square > 0, square.sqrt(), torch.zeros_like(square))  # cause
        return self.score(apart[..., None]).mean()


def setup():
    global model, forward, optimizer
    torch.manual_seed(0)
    model = Distances()
    forward = torch.compile(model, backend=BACKEND, fullgraph=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def run():
    for _ in range(2):
        loss = forward(torch.randn(5, 3))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
