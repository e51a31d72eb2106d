"""An auxiliary head gets gradients only after the optimizer step was compiled: it is compiled again."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, optimizer, step
    net = nn.ModuleDict({"main": nn.Linear(4, 1), "aux": nn.Linear(4, 1)})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step = torch.compile(optimizer.step, backend=BACKEND)


def run():
    for i in range(4):
        optimizer.zero_grad()
        x = torch.randn(3, 4)
        loss = net["main"](x).mean()
        if i > 1:
            loss = loss + net["aux"](x).mean()
        loss.backward()
        step()
