"""AG406: a loss of an optimizer's turn is computed while its parameters are frozen for the turn of another one."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from .programs import diagnosed
from .twins import calm


def adversaries(*, thaw=False, read=lambda x: None, stepped=True):
    """Four rounds; every other one has a penalty on the slope of the discriminator, in a step of its own."""
    generator, discriminator = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 1))
    opt_g, opt_d = (torch.optim.SGD(net.parameters(), 0.1) for net in (generator, discriminator))
    for step in range(4):
        discriminator.requires_grad_(True)
        real = torch.randn(8, 3)
        opt_d.zero_grad()
        (F.softplus(discriminator(generator(torch.randn(8, 2)).detach())) - discriminator(real)).mean().backward()
        opt_d.step()
        discriminator.requires_grad_(False)  # frozen
        opt_g.zero_grad()
        F.softplus(-discriminator(generator(torch.randn(8, 2)))).mean().backward()
        opt_g.step()
        if step % 2 == 0:
            if thaw:
                discriminator.requires_grad_(True)
            opt_d.zero_grad()
            real.requires_grad_(True)
            (slope,) = torch.autograd.grad(discriminator(real).sum(), real, create_graph=True)
            slope.pow(2).mean().backward()
            read(real)
            if stepped:
                opt_d.step()


def test_a_penalty_in_a_step_of_its_own():
    """Its backward only reaches the samples."""
    diagnosed(
        adversaries,
        "AG406",
        "# frozen",
        "0.weight",
        "only reaches real",
        "opt_d",
        severity="warning",
        where=adversaries,
    )


def test_unfrozen_in_time_or_for_the_samples():
    """Unfrozen for the penalty; a gradient that the program reads; no step that would be meant to use it."""
    calm(
        lambda: adversaries(thaw=True),
        lambda: adversaries(read=lambda x: x.grad.abs().max().item()),
        lambda: adversaries(stepped=False),
    )


def test_all_optimizers_step_in_every_turn():
    """Two networks learn in turns, and what is frozen is stepped as well: the backward reaches the other one."""

    def in_turns():
        nets = [nn.Linear(3, 3), nn.Linear(3, 3)]
        optimizers = [torch.optim.SGD(net.parameters(), 0.1) for net in nets]
        for step in range(4):
            for place, net in enumerate(nets):
                net.requires_grad_(place == step % 2)
            for optimizer in optimizers:
                optimizer.zero_grad()
            nets[1](nets[0](torch.randn(8, 3))).pow(2).mean().backward()
            for optimizer in optimizers:
                optimizer.step()

    def found_by_descent():
        """An input is moved by hand against a frozen network, between two trained steps."""
        net = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for _ in range(3):
            net.requires_grad_(False)
            x = torch.randn(8, 3, requires_grad=True)
            net(x).pow(2).mean().backward()
            attacked = x.detach() + 0.1 * x.grad.sign()
            net.requires_grad_(True)
            optimizer.zero_grad()
            net(attacked).pow(2).mean().backward()
            optimizer.step()

    calm(in_turns, found_by_descent)
