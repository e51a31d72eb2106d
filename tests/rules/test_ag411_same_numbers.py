"""AG411: seeds that are set in each round of training."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 6, generator=torch.Generator().manual_seed(1))


def training(before):
    """Each round calls ``before`` with its number."""

    def run():
        net = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for i in range(4):
            before(i)
            trained(optimizer, net(X).pow(2).mean())

    return run


def seeded(_i):
    torch.manual_seed(3)  # Seeded.
    return torch.randn(2, 6)


def anew(i):
    torch.manual_seed(i)


def put_back(_i):
    with torch.random.fork_rng():
        torch.manual_seed(3)
        torch.randn(2, 6)


def kept(_i):
    state = torch.get_rng_state()
    torch.manual_seed(3)
    torch.randn(2, 6)
    torch.set_rng_state(state)


def own(_i):
    torch.randn(2, 6, generator=torch.Generator().manual_seed(3))


def several_runs():
    """Runs that begin with one seed each."""
    for rate in (0.01, 0.02, 0.03):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())


def without_dropout():
    net = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        torch.manual_seed(0)
        trained(optimizer, net(X).pow(2).mean())


def test_one_seed_in_each_round():
    """The seed is for something else, and training's dropout draws behind it."""
    diagnosed(training(seeded), "AG411", "# Seeded.", "dropout", "manual_seed(3)", severity="warning", where=seeded)


def test_other_numbers():
    """Another seed each time, a state that is put back, a generator of its own, one seed a run, and nothing drawn."""
    calm(*(training(before) for before in (anew, put_back, kept, own)), several_runs, without_dropout)
