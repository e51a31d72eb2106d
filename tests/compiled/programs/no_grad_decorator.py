"""A decorated helper that a compiled model calls."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("embed",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 8)
        self.out = nn.Linear(8, 1)

    @torch.no_grad()  # cause
    def features(self, x):
        return torch.tanh(self.embed(x))

    def forward(self, x):
        return self.out(self.features(x))


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(6, 4)).pow(2).mean().backward()
        optimizer.step()
