"""The compiled loss has weights of its own, which no optimizer holds."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG404"
NAMES = ("log_var",)


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.one, self.two = nn.Linear(4, 1), nn.Linear(4, 1)

    def forward(self, x):
        h = self.body(x).relu()
        return self.one(h), self.two(h)


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, a, b):
        losses = torch.stack([a, b])
        return (losses * (-self.log_var).exp() + self.log_var).sum()


def setup():
    global net, crit, model, loss_fn, opt, x
    torch.manual_seed(0)
    net, crit = Heads(), Weighted()
    model = torch.compile(net, backend=BACKEND)
    loss_fn = torch.compile(crit, backend=BACKEND)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    x = torch.randn(6, 4)


def run():
    for _ in range(2):
        opt.zero_grad()
        a, b = model(x)
        loss_fn(a.pow(2).mean(), b.pow(2).mean()).backward()
        opt.step()
