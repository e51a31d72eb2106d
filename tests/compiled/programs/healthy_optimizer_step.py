"""A compiled optimizer step, as in the recipe."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer, step
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=torch.tensor(0.01))
    step = torch.compile(optimizer.step, backend=BACKEND)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).pow(2).mean().backward()
        step()
