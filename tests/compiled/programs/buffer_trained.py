"""What was meant to learn is a buffer of a compiled module."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG107 AG404 AG301 AG106"
NAMES = ("bias",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.bias = torch.zeros(4, requires_grad=True)  # cause

    def forward(self, x):
        return self.lin(x) + self.bias  # cause


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
