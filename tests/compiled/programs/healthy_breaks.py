"""Graph breaks by print, item and a disabled function; everything learns."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


@torch.compiler.disable
def clamp(z):
    return z.clamp(-3, 3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)
        self.c = nn.Linear(4, 1)

    def forward(self, x):
        h = torch.relu(self.a(x))
        if h.sum().item() > 1e6:
            print("large", h.max())
        h = clamp(self.b(h))
        torch._dynamo.graph_break()
        return self.c(h)


def setup():
    global net, optimizer
    net = torch.compile(Net(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    for _ in range(3):
        optimizer.zero_grad()
        net(torch.randn(3, 4)).sum().backward()
        optimizer.step()
