"""Nested vmap picks by argmax."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ("keys",)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = nn.Parameter(torch.randn(5, 3))
        self.values = nn.Parameter(torch.randn(5, 2))

    def forward(self, x):
        def one(row):
            scores = torch.vmap(lambda key: (key * row).sum())(self.keys)
            return self.values[scores.argmax()]  # cause

        return torch.vmap(one)(x).pow(2).mean()


def setup():
    global model, optimizer
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(4, 3)).backward()
        optimizer.step()
