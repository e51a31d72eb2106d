"""One of the heads that unbind() gave is scaled in place: torch refuses that while Dynamo traces it, in any frame."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG203"
NAMES = ("mul_", "unbind")
RAISES = "is a view and is being modified inplace"


def weighed(h):
    first, second = h.unbind(1)
    first.mul_(0.5)  # cause
    return first + second


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.project, self.out = nn.Linear(4, 6), nn.Linear(3, 1)

    def forward(self, x):
        torch._dynamo.graph_break()
        return self.out(weighed(self.project(x).view(-1, 2, 3)))


def setup():
    global net, optimizer
    torch.manual_seed(0)
    net = torch.compile(Heads(), backend=BACKEND)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def run():
    net(torch.randn(3, 4)).sum().backward()
    optimizer.step()
