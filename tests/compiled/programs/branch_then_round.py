"""After a branch that depends on data the features are rounded."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG303"
NAMES = ()


class Quant(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 1)

    def forward(self, x):
        h = self.a(x)
        if h.abs().max() > 1e-9:
            h = torch.round(h * 8) / 8  # cause
        return self.b(h)


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = Quant()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(3, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        model(x).sum().backward()
        opt.step()
