"""AG305: gradients that another network's loss has left, and that a step uses with its own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def players():
    generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
    return (
        generator,
        critic,
        torch.optim.SGD(generator.parameters(), lr=0.1),
        torch.optim.SGD(critic.parameters(), lr=0.1),
    )


def cleared_at_the_beginning(rounds):
    def program():
        generator, critic, g_opt, d_opt = players()
        for _ in range(rounds):
            g_opt.zero_grad()
            d_opt.zero_grad()
            g_loss = -critic(generator(X)).mean()
            g_loss.backward()  # Left.
            g_opt.step()
            d_loss = critic(generator(X).detach()).mean() - critic(X).mean()
            d_loss.backward()  # Added.
            d_opt.step()

    return program


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_generators_loss_in_the_critic(rounds):
    """Both are cleared at the beginning of a round: the critic steps with what the generator's loss has left."""
    program = cleared_at_the_beginning(rounds)
    finding = diagnosed(program, "AG305", "Added.", "critic.weight", "d_opt.zero_grad()", severity="warning")
    assert line_of(program, "Left.") in [place.lineno for place in finding.locations]
    assert "generator" not in " ".join(finding.subjects)


def cleared_before_each():
    generator, critic, g_opt, d_opt = players()
    for _ in range(2):
        g_opt.zero_grad()
        (-critic(generator(X)).mean()).backward()
        g_opt.step()
        d_opt.zero_grad()
        (critic(generator(X).detach()).mean() - critic(X).mean()).backward()
        d_opt.step()


def critic_first():
    generator, critic, g_opt, d_opt = players()
    for _ in range(2):
        g_opt.zero_grad()
        d_opt.zero_grad()
        (critic(generator(X).detach()).mean() - critic(X).mean()).backward()
        d_opt.step()
        (-critic(generator(X)).mean()).backward()
        g_opt.step()


def shared_encoder():
    encoder, first, second = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    opts = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (encoder, first, second)]
    for _ in range(2):
        for opt in opts:
            opt.zero_grad()
        first(encoder(X)).pow(2).mean().backward()
        opts[1].step()
        second(encoder(X)).pow(2).mean().backward()
        opts[2].step()
        opts[0].step()


def one_loss_of_both():
    encoder, decoder, e_opt, d_opt = players()
    for _ in range(2):
        e_opt.zero_grad()
        d_opt.zero_grad()
        decoder(encoder(X)).pow(2).mean().backward()
        e_opt.step()
        d_opt.step()


@pytest.mark.parametrize("program", [cleared_before_each, critic_first, shared_encoder, one_loss_of_both])
def test_losses_that_are_kept_apart_or_meant_together(program):
    """Cleared in between, in the other order, an encoder of several heads, one loss for two optimizers."""
    calm(program)


@pytest.mark.parametrize("rounds", [2, 5])
def test_an_optimizer_of_two_that_never_steps(rounds):
    """The other player steps: what is never used is told at the loss that it was computed for."""

    def program():
        generator, critic, g_opt, d_opt = players()
        for _ in range(rounds):
            d_opt.zero_grad()
            (critic(generator(X).detach()).mean() - critic(X).mean()).backward()
            d_opt.step()
            g_opt.zero_grad()
            (-critic(generator(X)).mean()).backward()  # Never used.

    finding = diagnosed(program, "AG305", "Never used.", "generator.weight", "step()", severity="warning")
    assert not any("critic" in name for name in finding.subjects)
