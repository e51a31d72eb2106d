"""set_grad_enabled(False) in a compiled forward."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("enc",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        with torch.set_grad_enabled(False):  # cause
            h = self.enc(x)
        return self.head(h * 1.0)


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
