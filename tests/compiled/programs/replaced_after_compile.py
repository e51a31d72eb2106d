"""The optimizer still holds the parameters that the model had before it was moved and compiled."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG405 AG404"
NAMES = ("weight",)


def setup():
    global net, optimizer
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for layer in (net[0], net[2]):
        layer.weight = nn.Parameter(layer.weight.detach().clone())
    net = torch.compile(net, backend=BACKEND)


def run():
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
