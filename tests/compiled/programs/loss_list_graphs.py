"""Losses of a compiled model are kept with their graphs."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG502"
NAMES = ()


def setup():
    global net, optimizer
    net = torch.compile(nn.Linear(4, 1), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    total = 0.0
    for _ in range(4):
        optimizer.zero_grad()
        loss = net(torch.randn(3, 4)).pow(2).mean()
        loss.backward()
        optimizer.step()
        total += loss  # cause
    return total
