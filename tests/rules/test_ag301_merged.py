"""AG301: adapters that an evaluation merges, and that training goes on without."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(4, 6).requires_grad_(False)
        self.down, self.up = nn.Parameter(0.1 * torch.randn(2, 4)), nn.Parameter(0.1 * torch.randn(6, 2))
        self.merged = False

    @torch.no_grad()
    def merge(self, sign=1):
        self.base.weight.add_(sign * self.up @ self.down)  # Merged.
        self.merged = sign > 0

    def forward(self, x):
        y = self.base(x)
        return y if self.merged else y + x @ self.down.t() @ self.up.t()


def evaluated(how, rounds=4):
    """Training with an evaluation in the middle."""

    def program():
        net = nn.Sequential(Adapted(), nn.Linear(6, 1))
        optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        for step in range(rounds):
            trained(optimizer, net(X).pow(2).mean())
            if step == 1:
                how(net)

    return program


def stays(net):
    net[0].merge()


def comes_out(net):
    net[0].merge()
    net(X)
    net[0].merge(-1)


def copied(net):
    served = copy.deepcopy(net)
    served[0].merge()
    served(X)


def test_adapters_that_stay_merged():
    """The line that merged them is named, with factors and weight; who takes them out, or merges a copy, is right."""
    names = "0.down", "0.up", "0.base.weight"
    diagnosed(evaluated(stays), "AG301", "# Merged.", *names, severity="warning", where=Adapted.merge)
    calm(evaluated(comes_out), evaluated(copied), evaluated(stays, rounds=2))


def test_averages_of_heads_that_take_turns():
    """A moving average has the shape of what it averages, and a head that is not used again was not merged."""

    def program():
        body, heads = nn.Linear(4, 6), nn.ModuleList([nn.Linear(6, 1), nn.Linear(6, 1)])
        average = copy.deepcopy(heads).requires_grad_(False)
        optimizer = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
        for step in range(4):
            answers, wanted = heads[step // 2](body(X)), average[0](body(X).detach()) + 1
            trained(optimizer, (answers - wanted).pow(2).mean())
            with torch.no_grad():
                for a, p in zip(average.parameters(), heads.parameters(), strict=True):
                    a.lerp_(p, 0.1)

    calm(program)
