"""Backward is compiled as well, by compiled autograd."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer
    net = torch.compile(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    with torch._dynamo.config.patch(compiled_autograd=True):

        @torch.compile(backend=BACKEND)
        def train(x):
            loss = net(x).pow(2).mean()
            loss.backward()

        for _ in range(3):
            optimizer.zero_grad()
            train(torch.randn(3, 4))
            optimizer.step()
