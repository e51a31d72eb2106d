"""The Euler step adds a detached slope: the state keeps the graph of its start only."""

import torch
from torch import nn

from tests.practice.truth import Truth


def euler(f, y, n):
    for _ in range(n):
        dy = f(y)
        y = y + dy.detach() / n  # cause
    return y


def run():
    torch.manual_seed(0)
    enc, f = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.Tanh())
    opt = torch.optim.Adam([*enc.parameters(), *f.parameters()], 1e-2)
    before = f[0].weight.detach().clone()
    for _ in range(2):
        loss = euler(f, enc(torch.randn(8, 2)), 4).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, f[0].weight)


def verify(out):
    assert out


TRUTH = Truth(fault="the dynamics get no gradient", names=("detach",), repair=("y = y + dy / n",))
