"""A head added after the optimizer was made, inside a compiled model."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG404 AG405"
NAMES = ("head",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))


def setup():
    global net, optimizer
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net.head = nn.Linear(4, 3)
    net = torch.compile(net, backend=BACKEND)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(net(torch.randn(3, 4)), torch.tensor([0, 1, 2])).backward()
        optimizer.step()
