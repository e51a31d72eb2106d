"""AG416: averages that follow another parameter than the one that they began as a copy of."""

from __future__ import annotations

import copy
from itertools import chain

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


class Online(nn.Module):
    def __init__(self):
        super().__init__()
        self.predictor, self.encoder, self.projector = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x):
        return self.predictor(self.projector(self.encoder(x).tanh()))


def own(online):
    return chain(online.encoder.parameters(), online.projector.parameters())


def whole(online):
    return online.parameters()


def copied(online):
    return nn.Sequential(copy.deepcopy(online.encoder), copy.deepcopy(online.projector))


def loaded(online):
    target = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    target[0].load_state_dict(online.encoder.state_dict())
    target[1].load_state_dict(online.projector.state_dict())
    return target


def fresh(_online):
    return nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))


def interpolated(t, p):
    t.lerp_(p, 0.1)  # Mixed.


def in_two_calls(t, p):
    t.mul_(0.9).add_(p, alpha=0.1)  # Mixed.


def hard(t, p):
    t.copy_(p)


def program(make, pairs, update):
    """Three steps, a target made by ``make``, and an ``update`` of it with ``pairs`` of the online network."""

    def run():
        online = Online()
        target = make(online).requires_grad_(False)
        optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
        for _ in range(3):
            trained(optimizer, (online(X) - target(X)).pow(2).mean())
            with torch.no_grad():
                for t, p in zip(target.parameters(), pairs(online), strict=False):
                    update(t, p)

    return run


def two_in_turn():
    """An average of two networks in turn, which begins as a copy of the first."""
    nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
    average = copy.deepcopy(nets[0]).requires_grad_(False)
    optimizer = torch.optim.SGD([*nets[0].parameters(), *nets[1].parameters()], lr=0.1)
    for i in range(4):
        trained(optimizer, sum((net(X) - average(X)).pow(2).mean() for net in nets))
        with torch.no_grad():
            for t, p in zip(average.parameters(), nets[i % 2].parameters(), strict=True):
                t.lerp_(p, 0.5)


def resumed():
    """Averages that began as copies of one model, and that go on with another one of its kind."""
    weights = None
    for _ in range(2):
        online = Online()
        weights = weights or {name: p.detach().clone() for name, p in online.named_parameters()}
        optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, online(X).pow(2).mean())
            with torch.no_grad():
                for name, p in online.named_parameters():
                    weights[name].lerp_(p, 0.1)


def test_paired_in_another_order():
    """A copy, or what a load filled; the average is computed by one call or by two."""
    for make, update in ((copied, interpolated), (copied, in_two_calls), (loaded, interpolated)):
        names = ("predictor", "encoder")
        diagnosed(program(make, whole, update), "AG416", "# Mixed.", *names, severity="warning", where=update)


def test_paired_well():
    """With what was copied; hard copies and weights of its own, of which nothing says whose they are; two in turn."""
    calm(
        program(copied, own, interpolated),
        program(loaded, own, in_two_calls),
        program(fresh, whole, interpolated),
        program(copied, whole, hard),
        two_in_turn,
        resumed,
    )
