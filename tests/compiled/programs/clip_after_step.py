"""Gradients of a compiled model are clipped after the step."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG305"
NAMES = ("clip",)


def setup():
    global net, optimizer
    net = torch.compile(nn.Linear(4, 1), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # cause
