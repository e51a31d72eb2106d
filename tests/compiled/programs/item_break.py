""".item() on a scale in a compiled function: a graph break, and the scale gets no gradient."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105 AG301"
NAMES = ("scale",)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.scale = nn.Linear(4, 1)

    def forward(self, x):
        s = self.scale(x).mean().item()  # cause
        return self.lin(x) * s


def setup():
    global model, optimizer
    model = torch.compile(Scaled(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
