"""A compiled tower inside a compiled model detaches its output."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("tower",)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x):
        return F.normalize(self.proj(x), dim=-1).detach()  # cause


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = torch.compile(Tower(), backend=BACKEND)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.tower(x))


def setup():
    global model, optimizer
    model = torch.compile(Model(), backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).pow(2).sum().backward()
        optimizer.step()
