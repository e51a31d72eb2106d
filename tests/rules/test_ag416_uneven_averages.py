"""AG416: averages that one line updates several times a round, where it updates others once."""

from __future__ import annotations

import copy

import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 3, generator=torch.Generator().manual_seed(1))


def network():
    return nn.Sequential(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Linear(3, 1))


def below(net, average):
    """For each module the parameters of all modules in it."""
    for module, twin in zip(net.modules(), average.modules(), strict=True):
        yield from zip(twin.parameters(), module.parameters(), strict=True)


def own(net, average):
    for module, twin in zip(net.modules(), average.modules(), strict=True):
        yield from zip(twin.parameters(recurse=False), module.parameters(recurse=False), strict=True)


def twice(net, average):
    for _ in range(2):
        yield from zip(average.parameters(), net.parameters(), strict=True)


def tied():
    """A layer under two names, which both are gone over."""
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.Tanh(), layer, nn.Linear(3, 1))


def every_name(net, average):
    averages = dict(average.named_parameters(remove_duplicate=False))
    return [(averages[name], p) for name, p in net.named_parameters(remove_duplicate=False)]


def program(pairs, make=network):
    def run():
        net = make()
        average = copy.deepcopy(net).requires_grad_(False)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            trained(optimizer, (net(X) - average(X) + 1).pow(2).mean())
            with torch.no_grad():
                for t, p in pairs(net, average):
                    t.lerp_(p, 0.1)  # Updated.

    return run


def test_more_often_the_deeper():
    """Each module is asked for all parameters below it."""
    diagnosed(program(below), "AG416", "# Updated.", "0.0.weight", severity="warning", where=program)


def test_alike():
    """Once each; all of them twice; a tied layer under both of its names."""
    calm(program(own), program(twice), program(every_name, tied))
