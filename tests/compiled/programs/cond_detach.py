"""Both branches of a torch.cond() detach what they are given."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG101"
NAMES = ()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 1)

    def forward(self, x):
        h = self.a(x)

        def small(h):
            return h.detach() * 2.0  # cause

        def big(h):
            return h.detach() * 0.5

        h = torch.cond(h.sum() > -100.0, small, big, (h,))
        return self.b(h)


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Net()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
