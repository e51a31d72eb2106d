"""The weights of a compiled model are halved through .data before backward."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG202"
NAMES = ()
VALUES = True


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        for p in net.parameters():
            p.data.mul_(0.5)  # cause
        loss.backward()
        opt.step()
