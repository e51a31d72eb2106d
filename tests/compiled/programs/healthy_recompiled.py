"""Every step has another shape and another number, and is compiled again."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x, t):
        h = self.a(x) * t
        if h.sum() > 0:
            h = h * 2
        print("t", t, end="\r")
        return self.b(h.relu())


def setup():
    global net, model, opt
    torch.manual_seed(0)
    net = Net()
    model = torch.compile(net, backend=BACKEND, dynamic=False)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)


def run():
    for i in range(14):
        opt.zero_grad()
        model(torch.randn(2 + i, 4), 0.1 * i).pow(2).mean().backward()
        opt.step()
