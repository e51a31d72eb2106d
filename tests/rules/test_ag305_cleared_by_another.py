"""AG305: gradients that the zero_grad() of another optimizer drops before their step."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def made(shared=True):
    trunk, actor, critic = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 1)
    first = torch.optim.SGD([*trunk.parameters(), *actor.parameters()], lr=0.1)
    second = torch.optim.SGD([*(trunk.parameters() if shared else ()), *critic.parameters()], lr=0.1)
    return trunk, actor, critic, first, second


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("rounds", [1, 3])
def test_an_encoder_of_two_optimizers(set_to_none, rounds):
    """Its gradient from the first loss is gone when the first optimizer steps; the head's is there."""

    def program():
        trunk, actor, critic, first, second = made()
        for _ in range(rounds):
            first.zero_grad(set_to_none=set_to_none)
            actor(trunk(X)).pow(2).mean().backward()  # Computed.
            second.zero_grad(set_to_none=set_to_none)  # Cleared.
            critic(trunk(X)).pow(2).mean().backward()
            first.step()
            second.step()

    finding = diagnosed(
        program, "AG305", "Cleared.", "second.zero_grad", "trunk.weight", severity="warning",
        besides=("AG407",),
    )  # fmt: skip
    assert "actor" not in finding.message


def in_order():
    trunk, actor, critic, first, second = made()
    for _ in range(2):
        first.zero_grad()
        actor(trunk(X)).pow(2).mean().backward()
        first.step()
        second.zero_grad()
        critic(trunk(X)).pow(2).mean().backward()
        second.step()


def adversaries():
    generator, judge = nn.Linear(4, 4), nn.Linear(4, 1)
    first = torch.optim.SGD(generator.parameters(), lr=0.1)
    second = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(2):
        first.zero_grad()
        judge(generator(X)).mean().backward()
        second.zero_grad()  # What the generator's loss has left there.
        first.step()
        judge(generator(X).detach()).mean().backward()
        second.step()


def a_part_left_out():
    trunk, actor, _critic, first, _second = made()
    for _ in range(2):
        first.zero_grad()
        actor(trunk(X)).pow(2).mean().backward()
        trunk.zero_grad()  # Warm-up of the head.
        first.step()


def kept_by_hand():
    trunk, actor, critic, first, second = made()
    for _ in range(2):
        first.zero_grad()
        actor(trunk(X)).pow(2).mean().backward()
        kept = [p.grad.clone() for p in trunk.parameters()]
        second.zero_grad()
        critic(trunk(X)).pow(2).mean().backward()
        second.step()
        for p, grad in zip(trunk.parameters(), kept, strict=True):
            p.grad = grad
        first.step()


@pytest.mark.parametrize("program", [in_order, adversaries, a_part_left_out, kept_by_hand])
def test_clearing_that_is_meant(program):
    """After the step, of the other player, of a part that is not to move, or put back by hand."""
    calm(program)
