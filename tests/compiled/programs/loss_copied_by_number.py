"""A compiled sum of two losses copies one by torch.tensor(x.item())."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG105"
NAMES = ("b.weight",)


def setup():
    global a, b, opt, total
    torch.manual_seed(0)
    a, b = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)

    @torch.compile(backend=BACKEND)
    def total(x):
        la, lb = a(x).pow(2).mean(), b(x).abs().mean()
        return la + torch.tensor(lb.item()) * 0.5  # cause


def run():
    for _ in range(4):
        opt.zero_grad()
        total(torch.randn(4, 4)).backward()
        opt.step()
