"""Running statistics are written within compiled code."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Whiten(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        h = self.lin(x)
        with torch.no_grad():
            self.mean.mul_(0.9).add_(h.mean(0), alpha=0.1)
            self.steps += 1
        h = h - self.mean
        h[:, 0] = h[:, 0] * 2
        return h


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Whiten()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 4)


def run():
    for _ in range(3):
        opt.zero_grad()
        model(x).pow(2).mean().backward()
        opt.step()
