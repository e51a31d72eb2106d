"""A comparison makes a mask of scores, and its float is what the loss sees."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG104"
NAMES = ("gate",)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.value = nn.Linear(4, 4)

    def forward(self, x):
        keep = (torch.sigmoid(self.gate(x)) > 0.5).float()  # cause
        return keep * self.value(x)


def setup():
    global model, optimizer
    model = Gated()
    model.forward = torch.compile(model.forward, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).sum().backward()
        optimizer.step()
