"""A layer of a compiled model is never called."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG301"
NAMES = ("aux",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.aux = nn.Linear(4, 1)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(torch.relu(self.lin(x)))


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
