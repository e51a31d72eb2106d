"""A function around the step is compiled, as in the recipe with a schedule."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer, step
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)

    @torch.compile(backend=BACKEND, fullgraph=False)
    def step():
        optimizer.step()


def run():
    for _ in range(3):
        net(torch.randn(3, 4)).pow(2).mean().backward()
        step()
        optimizer.zero_grad()
