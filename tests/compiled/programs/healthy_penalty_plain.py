"""Critic with a gradient penalty: compiled scores, eager penalty on the same weights."""

import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Critic(nn.Module):
    def __init__(self, d=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 12), nn.Softplus(), nn.Linear(12, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def penalty(critic, x):
    params = dict(critic.named_parameters())
    slope = vmap(grad(lambda row: functional_call(critic, params, (row,))))(x)
    return (slope.norm(dim=1) - 1).square().mean()


def run():
    torch.manual_seed(0)
    critic = Critic()
    score = torch.compile(critic, backend=BACKEND)
    opt = torch.optim.Adam(critic.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in critic.parameters()]
    first = None
    for _ in range(4):
        real, fake = torch.randn(16, 4) + 1, torch.randn(16, 4)
        both = score(torch.cat([real, fake]))
        gap = both[16:].mean() - both[:16].mean()
        t = torch.rand(16, 1)
        gp = penalty(critic, t * real + (1 - t) * fake)
        first = gp.item() if first is None else first
        opt.zero_grad()
        (gap + 10 * gp).backward()
        opt.step()
    return start, critic, first, gp.item()


def right(out):
    start, critic, first, last = out
    assert last < first
    assert all(not torch.equal(a, b) for a, b in zip(start[:3], list(critic.parameters())[:3]))


TRUTH = Truth()
