"""A tensor hook inside the compiled forward replaces the gradient by zeros."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG306 AG303"
NAMES = ()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(4, 4)
        self.dec = nn.Linear(4, 4)

    def forward(self, x):
        z = self.enc(x)
        if z.requires_grad:
            z.register_hook(lambda grad: grad * 0)  # cause
        return self.dec(torch.relu(z))


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


VALUES = True


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).pow(2).sum().backward()
        optimizer.step()
