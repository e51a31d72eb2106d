"""AG305: the discriminator's loss leaves gradients in the generator, and is frozen for the generator's own."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed
from .twins import calm


def turn(generator, discriminator, optimizers, *, attached, clear=False):
    """Both turns of one step; the samples are made once."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    fake = generator(torch.randn(8, 2))
    given = fake if attached else fake.detach()
    d_loss = F.softplus(discriminator(given)).mean()
    d_loss.backward(retain_graph=True)
    optimizers[1].step()
    discriminator.requires_grad_(False)
    g_loss = F.softplus(-discriminator(fake)).mean()
    if clear:
        optimizers[0].zero_grad()
    g_loss.backward()
    optimizers[0].step()
    discriminator.requires_grad_(True)


def made():
    generator, discriminator = nn.Linear(2, 3), nn.Linear(3, 1)
    return generator, discriminator, [torch.optim.SGD(net.parameters(), 0.1) for net in (generator, discriminator)]


def test_the_generator_steps_with_both_losses():
    """Where its samples enter the discriminator with their graph is the culprit."""
    diagnosed(
        lambda: turn(*made(), attached=True),
        "AG305",
        "d_loss = F.softplus",
        "optimizers",
        severity="warning",
        where=turn,
    )


def test_detached_or_cleared_in_between():
    """Then the generator steps with its own loss."""
    calm(lambda: turn(*made(), attached=False), lambda: turn(*made(), attached=True, clear=True))
