"""A straight-through estimator in one graph."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Ste(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.a(x)
        h = h + (torch.round(h) - h).detach()
        return self.b(h)


def setup():
    global net, opt, x
    torch.manual_seed(0)
    net = Ste()
    net.compile(backend=BACKEND, fullgraph=True)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()
