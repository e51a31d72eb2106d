"""Only the blocks of a model are compiled; one of them stops the gradient."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ("embed",)


class Block(nn.Module):
    def __init__(self, stop):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.stop = stop

    def forward(self, x):
        if self.stop:
            x = x.detach()  # cause
        return torch.relu(self.lin(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(2, 4)
        self.blocks = nn.ModuleList([Block(False), Block(True), Block(False)])
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def setup():
    global net, optimizer
    net = Net()
    for block in net.blocks:
        block.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 2)).sum().backward()
        optimizer.step()
