"""A compiled optimizer step, and nobody clears the gradients."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
NAMES = ()


def setup():
    global net, optimizer, step
    net = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend=BACKEND)


def run():
    for _ in range(4):
        net(torch.randn(3, 4)).pow(2).mean().backward()
        step()  # cause
