"""AG204: snapshots that were assigned to the parameters without a copy."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def cloned(net):
    return [p.detach().clone() for p in net.parameters()]


def by_data(kept, net):
    for p, value in zip(net.parameters(), kept, strict=True):
        p.data = value  # given


def flat(net):
    return parameters_to_vector(net.parameters()).detach()


def by_vector(kept, net):
    vector_to_parameters(kept, net.parameters())  # given


def by_values(kept, net):
    with torch.no_grad():
        for p, value in zip(net.parameters(), kept, strict=True):
            p.copy_(value)


def program(keep, give, restore=None, *, between=lambda kept: None, trains=True):
    """Weights are kept, given back after a step, and given back again after another one."""
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    kept = keep(net)
    trained(optimizer, net(X).pow(2).mean())
    give(kept, net)
    if trains:
        trained(optimizer, net(X).pow(2).mean())
    between(kept)
    (restore or give)(kept, net)
    return net(X)


def test_snapshot_that_is_trained():
    """It has been the memory of the parameters since it was assigned, whichever way it is written back later."""
    for keep, give, restore in ((cloned, by_data, None), (flat, by_vector, None), (cloned, by_data, by_values)):
        finding = diagnosed(
            lambda keep=keep, give=give, restore=restore: program(keep, give, restore),
            "AG204", "# given", "weight", "SGD.step()", "restores nothing", severity="warning", where=give,
        )  # fmt: skip
        assert "`.clone()`" in finding.fix


def test_memory_that_is_given_on_purpose():
    """A copy is given, nothing trains in between, or the program writes through what it gave."""

    def copies(kept, net):
        by_data([value.clone() for value in kept], net)

    def copied_vector(kept, net):
        by_vector(kept.clone(), net)

    def written(kept):
        kept.mul_(0.5)

    def swapped():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        average = cloned(net)
        for _ in range(3):
            trained(optimizer, net(X).pow(2).mean())
            for a, p in zip(average, net.parameters(), strict=True):
                a.lerp_(p.detach(), 0.5)
            own = [p.data for p in net.parameters()]
            by_data(average, net)
            with torch.no_grad():
                net(X)
            by_data(own, net)

    def evolved():
        net = nn.Linear(4, 2)
        theta = flat(net)
        for _ in range(3):
            by_vector(theta, net)
            with torch.no_grad():
                theta += 0.1 * torch.randn_like(theta) * net(X).mean()

    calm(
        lambda: program(cloned, copies),
        lambda: program(flat, copied_vector),
        lambda: program(cloned, by_values),
        lambda: program(flat, by_vector, trains=False),
        lambda: program(flat, by_vector, between=written),
        swapped,
        evolved,
    )
