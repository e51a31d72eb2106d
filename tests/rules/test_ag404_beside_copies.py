"""AG404: a copy of a model is trained, with the optimizer of the model itself."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def checked(optimizer_of, *, rounds=3, after=lambda probe: None):
    """Some rounds with a copy, then the model itself."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    probe = copy.deepcopy(net)
    chosen = optimizer_of(optimizer, probe)
    for _ in range(rounds):
        chosen.zero_grad()
        probe(X).square().mean().backward()
        chosen.step()  # In vain.
        after(probe)
    for _ in range(2):
        optimizer.zero_grad()
        net(X).square().mean().backward()
        optimizer.step()


def test_the_optimizer_of_the_model():
    """Its steps find nothing, and what has the gradients is a copy."""
    diagnosed(
        lambda: checked(lambda own, probe: own), "AG404", "# In vain.", "probe.weight", "copies",
        severity="warning", where=checked,
    )  # fmt: skip


def test_an_optimizer_of_its_own():
    """Or an update by hand, or a single round, which may measure something."""

    def by_hand(probe):
        with torch.no_grad():
            for p in probe.parameters():
                p.sub_(p.grad, alpha=0.1)
                p.grad = None

    calm(
        lambda: checked(lambda own, probe: torch.optim.SGD(probe.parameters(), lr=0.1)),
        lambda: checked(lambda own, probe: own, after=by_hand),
        lambda: checked(lambda own, probe: own, rounds=1),
    )
