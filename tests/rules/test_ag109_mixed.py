"""AG109: a step with the gradients of another optimizer's loss and of its own."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))
SGD = torch.optim.SGD


def adversaries(*, detached=False, between=False, to_none=True, split=False, critics=1, rounds=3):
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    own, other = SGD(generator.parameters(), lr=0.1), SGD(critic.parameters(), lr=0.1)
    for _ in range(rounds):
        own.zero_grad(set_to_none=to_none)
        for _ in range(critics):
            other.zero_grad(set_to_none=to_none)
            fake = generator(X)
            if split:
                critic(X).mean().neg().backward()
            score = critic(fake.detach() if detached else fake)
            (score.mean() - critic(X).mean()).backward(retain_graph=True)
            other.step()
        if between:
            own.zero_grad(set_to_none=to_none)
        g_loss = critic(generator(X)).mean().neg()
        g_loss.backward()
        own.step()


@pytest.mark.parametrize("how", [{}, {"to_none": False}, {"split": True}, {"critics": 2}, {"rounds": 40}])
def test_discriminator_loss_left_in_the_generator(how):
    """Both are cleared at the top of the round, and the discriminator's loss is not detached: the generator sums."""
    finding = diagnosed(
        lambda: adversaries(**how), "AG109", "score = critic(", "generator.weight", "critic.weight",
        severity="warning", where=adversaries,
    )  # fmt: skip
    assert line_of(adversaries, "g_loss.backward()") in [place.lineno for place in finding.locations]


def test_generators_of_their_own_loss():
    """Detached, or cleared before the generator's own loss."""
    calm(
        lambda: adversaries(detached=True),
        lambda: adversaries(between=True),
        lambda: adversaries(between=True, to_none=False),
        lambda: adversaries(detached=True, to_none=False, split=True),
    )


def test_losses_that_are_meant_to_be_summed():
    """Several losses of one body, accumulated micro-batches, and losses that no step comes between."""

    def heads():
        body, one, two = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
        optimizers = [SGD(part.parameters(), lr=0.1) for part in (body, one, two)]
        for _ in range(3):
            for optimizer in optimizers:
                optimizer.zero_grad()
            F.mse_loss(one(body(X)), Y).backward()
            optimizers[1].step()
            F.l1_loss(two(body(X)), Y).backward()
            optimizers[2].step()
            optimizers[0].step()

    def together():
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        first, second = SGD(body.parameters(), lr=0.1), SGD(head.parameters(), lr=0.1)
        for _ in range(3):
            first.zero_grad()
            second.zero_grad()
            F.mse_loss(head(body(X)), Y).backward()
            F.l1_loss(head(body(X)), Y).backward()
            second.step()
            first.step()

    def accumulated():
        body, head = nn.Linear(4, 4), nn.Linear(4, 1)
        slow, quick = SGD(body.parameters(), lr=0.1), SGD(head.parameters(), lr=0.1)
        for step in range(6):
            quick.zero_grad()
            F.mse_loss(head(body(X)), Y).backward()
            quick.step()
            if step % 2:
                slow.step()
                slow.zero_grad()

    calm(heads, together, accumulated)
