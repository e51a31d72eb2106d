"""AG406: a context that unfreezes what was frozen before it."""

from __future__ import annotations

from contextlib import contextmanager

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.features(x).tanh())


@contextmanager
def frozen(module):
    for p in module.parameters():
        p.requires_grad_(False)
    yield
    for p in module.parameters():
        p.requires_grad_(True)  # Thawed.


@contextmanager
def as_before(module):
    old = [p.requires_grad for p in module.parameters()]
    module.requires_grad_(False)
    yield
    for p, before in zip(module.parameters(), old, strict=True):
        p.requires_grad_(before)


def adversarial(context, prepare, learning=lambda critic: critic.parameters()):
    def program():
        critic, generator = Critic(), nn.Linear(4, 4)
        prepare(critic)
        own = torch.optim.SGD(learning(critic), lr=0.1)
        other = torch.optim.SGD(generator.parameters(), lr=0.1)
        for _ in range(3):
            with context(critic):
                trained(other, critic(generator(X)).pow(2).mean())
            trained(own, (critic(X) - critic(generator(X).detach()) - 1).pow(2).mean())

    return program


def freeze_features(critic):
    critic.features.requires_grad_(False)


def test_features_that_were_frozen_for_good():
    """The context unfreezes them with the head, and they are trained from then on."""
    diagnosed(
        adversarial(frozen, freeze_features),
        "AG406",
        "# Thawed.",
        "features.weight",
        "frozen before",
        severity="warning",
        where=frozen,
    )


def test_contexts_that_undo_what_they_did():
    """Each flag is set back; nothing was frozen before, or all of it; what is thawed is not trained."""
    calm(
        adversarial(as_before, freeze_features),
        adversarial(frozen, lambda critic: None),
        adversarial(frozen, lambda critic: critic.requires_grad_(False)),
    )


def test_stages_that_thaw_more_and_more():
    """A head is trained first, another part is frozen as well for a while, and then all of it is trained."""

    def program():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        net[0].requires_grad_(False)
        trained(optimizer, net(X).pow(2).mean())
        net[1].requires_grad_(False)
        trained(optimizer, net(X).pow(2).mean())
        net.requires_grad_(True)
        trained(optimizer, net(X).pow(2).mean())

    calm(program)
