"""All that a compiled model computes was detached: backward raises."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101 AG105 AG106 AG107"
NAMES = ()
RAISES = "element 0 of tensors does not require grad"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 1)

    def forward(self, x):
        return self.lin(x).detach()  # cause


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    optimizer.zero_grad()
    net(torch.randn(3, 4)).sum().backward()
