"""The forward prints, reads a number and appends it to a list: three graph breaks, and nothing is lost."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last, self.seen = nn.Linear(4, 4), nn.Linear(4, 1), []

    def forward(self, x):
        h = torch.relu(self.first(x))
        print("mean", h.mean().item())
        self.seen.append(float(h.std()))
        picked = h[h.sum(1) > -1]
        return self.last(picked)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(5, 4)).pow(2).mean().backward()
        optimizer.step()
