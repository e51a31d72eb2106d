"""Two losses of one compiled output, the first with retain_graph."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        out = model(x)
        out[:, 0].pow(2).mean().backward(retain_graph=True)
        out[:, 1].pow(2).mean().backward()
        opt.step()
