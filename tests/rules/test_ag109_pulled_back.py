"""AG109: a moving average that is written into the network that learns, and not into its copy."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def averaged(target, source):
    for t, s in zip(target.parameters(), source.parameters(), strict=True):
        t.mul_(0.9).add_(s, alpha=0.1)  # Averaged.


@torch.no_grad()
def copied(target, source):
    for t, s in zip(target.parameters(), source.parameters(), strict=True):
        t.data.copy_(0.9 * t.data + 0.1 * s.data)  # Averaged.


@torch.no_grad()
def interpolated(target, source):
    for t, s in zip(target.parameters(), source.parameters(), strict=True):
        t.lerp_(s, 0.1)  # Averaged.


def bootstrapped(update, *, judges=True):
    online = nn.Linear(4, 4)
    target = copy.deepcopy(online).requires_grad_(False)
    optimizer = torch.optim.SGD(online.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        goal = target(X).tanh() if judges else X
        (online(X) - goal).pow(2).mean().backward()
        optimizer.step()
        update(online, target)


@pytest.mark.parametrize("average", [averaged, copied, interpolated])
def test_target_and_source_are_swapped(average):
    """The trained weights are pulled back to a target that never moves; the other way round all is well."""
    diagnosed(
        lambda: bootstrapped(average), "AG109", "# Averaged.", "weight", "bias",
        "never change", severity="warning", where=average,
    )  # fmt: skip
    calm(lambda: bootstrapped(lambda online, target: average(target, online)))


def test_weights_that_stay_near_to_where_they_began():
    """An anchor whose output no loss depends on is a regulariser; slow weights follow before they are given back."""

    def lookahead(online, target):
        averaged(target, online)
        averaged(online, target)

    calm(
        lambda: bootstrapped(averaged, judges=False),
        lambda: bootstrapped(lookahead),
    )
