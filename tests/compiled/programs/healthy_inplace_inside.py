"""In-place ops in compiled code where they are allowed: relu_, masked_fill_, a running mean."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.out = nn.Linear(4, 1)
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        h = self.lin(x).relu_()
        if self.training:
            with torch.no_grad():
                self.mean.mul_(0.9).add_(h.mean(0), alpha=0.1)
        h = h - self.mean
        scores = h.masked_fill(h < -2, 0.0)
        return self.out(scores)


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
