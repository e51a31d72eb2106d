"""AG204: a target network that is the network itself, and is brought up to date in each round."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def by_load(target, net):
    target.load_state_dict(net.state_dict())  # Synced.


def by_copy(target, net):
    with torch.no_grad():
        for mine, its in zip(target.parameters(), net.parameters(), strict=True):
            mine.copy_(its)  # Synced.


def learn(target_of, sync, rounds=3):
    net = nn.Linear(4, 2)
    target = target_of(net)
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(rounds):
        with torch.no_grad():
            goal = 1 + 0.9 * target(X).max(1).values
        optimizer.zero_grad()
        (net(X).max(1).values - goal).pow(2).mean().backward()
        optimizer.step()
        sync(target, net)


@pytest.mark.parametrize("sync", [by_load, by_copy])
def test_target_that_is_the_network_itself(sync):
    """Copied onto itself in each round: told once, with the fix that makes a copy."""
    finding = diagnosed(
        lambda: learn(lambda net: net, sync), "AG204", "# Synced.", "weight", "bias", severity="warning", where=sync
    )
    assert "deepcopy" in finding.fix


@pytest.mark.parametrize("sync", [by_load, by_copy])
def test_target_of_its_own(sync):
    """A copy follows; and a single load of a model's own state may be a check."""
    calm(lambda: learn(copy.deepcopy, sync), lambda: learn(lambda net: net, sync, rounds=1))
