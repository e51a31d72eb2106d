"""AG305: several losses for one step, of which the last one alone is backpropagated."""

from __future__ import annotations

from itertools import cycle

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected
from .twins import calm

G = torch.Generator().manual_seed(0)
BATCHES = [(torch.randn(4, 3, generator=G), torch.randn(4, 1, generator=G)) for _ in range(3)]


def fitted(round_of, rounds=2):
    net = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(rounds):
        optimizer.zero_grad()
        round_of(net)
        optimizer.step()


def test_backward_behind_the_loop_instead_of_in_it():
    """The losses of all batches but the last one are dropped, also where their numbers were logged."""

    def dropped(net):
        for x, y in BATCHES:
            loss = F.mse_loss(net(x), y)
            seen.append(loss.item())
        loss.backward()

    def summed(net):
        total = 0.0
        for x, y in BATCHES:
            total = total + F.mse_loss(net(x), y)
        total.backward()

    def each(net):
        for x, y in BATCHES:
            F.mse_loss(net(x), y).backward()

    seen = []
    diagnosed(
        lambda: fitted(dropped), "AG305", "loss = F.mse_loss(net(x), y)", "3 times for each step", severity="warning",
        where=dropped,
    )  # fmt: skip
    calm(lambda: fitted(summed), lambda: fitted(each))


def test_losses_that_a_round_leaves_out():
    """What is skipped because of its number, in some rounds, is no mistake; nor is a recurrent net's last output."""

    def until_it_counts(net):
        for x, y in BATCHES[: next(counts)]:
            loss = F.mse_loss(net(x), y)
        loss.backward()

    def last_output(net):
        h = torch.zeros(4, 3)
        for x, _ in BATCHES:
            h = torch.tanh(x + h)
            out = net(h)
        out.pow(2).mean().backward()

    counts = cycle((1, 3, 2))
    calm(lambda: fitted(until_it_counts, rounds=3), lambda: fitted(last_output))


def test_another_optimizer_steps_in_its_place():
    """The turn of the one ends with the step of the other: that line comes first, and the fix names the right one."""

    def turns(of_critic):
        generator, critic = nn.Linear(3, 3), nn.Linear(3, 1)
        generator_optimizer = torch.optim.Adam(generator.parameters())
        critic_optimizer = torch.optim.Adam(critic.parameters())
        for x, _ in BATCHES:
            critic_optimizer.zero_grad()
            critic(generator(x).detach()).mean().backward()
            of_critic(generator_optimizer, critic_optimizer)
            generator_optimizer.zero_grad()
            critic(generator(x)).mean().neg().backward()
            generator_optimizer.step()

    def wrong(generator_optimizer, critic_optimizer):
        generator_optimizer.step()  # Wrong.

    found = alarms(inspected(lambda: turns(wrong)))[0]
    assert found.locations[0].source.endswith("# Wrong.")
    assert "generator_optimizer.step()" in found.message
    assert "critic_optimizer.step()" in found.fix
    calm(lambda: turns(lambda _, optimizer: optimizer.step()))


def test_heads_whose_losses_are_overwritten():
    """The finding about the loss says which heads learn nothing: no other finding is about them."""

    def tasks():
        trunk, heads = nn.Linear(3, 4), nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
        optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)
        for x, y in BATCHES:
            hidden = trunk(x)
            for head in heads:
                loss = F.mse_loss(head(hidden), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    finding = diagnosed(
        tasks, "AG305", "loss = F.mse_loss(head(hidden), y)", "heads.0.weight", "heads.1.bias", severity="warning"
    )
    assert not any("heads.2" in name for name in finding.subjects)
    assert any("AG301" in line for line in finding.consequences)
