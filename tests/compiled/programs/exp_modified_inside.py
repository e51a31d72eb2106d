"""Compiled code modifies in place what exp kept for backward."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG201"
NAMES = ("exp",)
RAISES = "modified by an inplace operation"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.a(x).exp()
        g = h * 2
        h += 1  # cause
        return self.b(g * h)


def setup():
    global net, opt
    torch.manual_seed(0)
    net = torch.compile(Net(), backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(3, 4)).mean().backward()
        opt.step()
