"""Hard selection in a compiled model: nothing before the argmax learns."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ("router",)


class Route(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3)
        self.experts = nn.Embedding(3, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        choice = self.router(x).argmax(-1)  # cause
        return self.head(self.experts(choice) * x)


def setup():
    global model, optimizer
    model = torch.compile(Route(), backend=BACKEND, dynamic=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for size in (3, 5):
        optimizer.zero_grad()
        model(torch.randn(size, 4)).mean().backward()
        optimizer.step()
