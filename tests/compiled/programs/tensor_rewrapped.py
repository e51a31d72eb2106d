"""torch.tensor() of a tensor inside compiled code makes a copy without history."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105 AG101 AG106"
NAMES = ("lin",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.out = nn.Linear(1, 1)

    def forward(self, x):
        s = self.lin(x).mean()
        return self.out(torch.tensor([float(s)]))  # cause


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
