"""AG417: parameters that are converted to fewer bits between two steps, and come back rounded."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained_around(export, *, rounds=2):
    def program():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(rounds):
            trained(optimizer, net(X).pow(2).mean())
            export(net)

    return program


def in_place(net):
    net.half()  # Rounded.
    net.float()


def test_an_export_rounds_the_weights_that_are_trained():
    """`half()` and `float()` work in place: the next step continues with the rounded values."""
    diagnosed(trained_around(in_place), "AG417", "# Rounded.", "weight", "float16", severity="warning", where=in_place)


def test_weights_that_come_back_as_they_were():
    """A copy is converted, the old values are put back, or nothing is trained afterwards; more bits lose nothing."""

    def put_back(net):
        old = copy.deepcopy(net.state_dict())
        in_place(net)
        net.load_state_dict(old)

    calm(
        trained_around(lambda net: copy.deepcopy(net).half()),
        trained_around(put_back),
        trained_around(in_place, rounds=1),
        trained_around(lambda net: net.double().float()),
    )


def test_weights_that_compute_in_fewer_bits():
    """Forward and backward in bfloat16, and the step in float32, is a way to train."""

    def program():
        net = nn.Linear(4, 2).bfloat16()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            net(X.bfloat16()).float().pow(2).mean().backward()
            net.float()
            optimizer.step()
            optimizer.zero_grad()
            net.bfloat16()

    calm(program)
