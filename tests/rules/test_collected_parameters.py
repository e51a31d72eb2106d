"""The statements that put together the list of parameters, shown where an optimizer has the wrong ones."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def steps(build):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = build(net)
    for _ in range(2):
        trained(optimizer, net(X).pow(2).mean())


def sgd(params):
    return torch.optim.SGD(params, lr=0.1)  # made


def left_out(net):
    own = list(net[0].parameters())
    return sgd(own)


def conditional(net):
    own = list(net[0].parameters())
    if len(net) > 3:
        own += net[2].parameters()
    return torch.optim.SGD(own, lr=0.1)


def twice(net):
    own = list(net.parameters()) + list(net[2].parameters())
    return torch.optim.SGD(params=own, lr=0.1)


def roles(finding):
    return {place.source: place.role for place in finding.locations}


def test_left_out_of_the_list():
    """The list is followed from a function that was handed it to the one that bound it."""
    finding = diagnosed(lambda: steps(left_out), "AG404", "# made", "2.weight", severity="warning", where=sgd)
    assert roles(finding)["own = list(net[0].parameters())"] == "parameters collected here"


def test_added_under_a_condition():
    """Of a statement in a branch the place is told as one that a condition decides on."""
    finding = diagnosed(
        lambda: steps(conditional), "AG404", "torch.optim.SGD", "2.weight", severity="warning", where=conditional
    )
    assert roles(finding)["own += net[2].parameters()"] == "collected here under a condition"


def test_listed_twice():
    """A list that holds a parameter twice."""
    finding = diagnosed(lambda: steps(twice), "AG407", "torch.optim.SGD", "2.weight", severity="warning", where=twice)
    assert "parameters collected here" in roles(finding).values()


def test_lists_that_hold_what_learns():
    """Lists of all parameters, joined, filtered or put together under conditions, are right."""

    def joined(net):
        own = list(net[0].parameters())
        own += net[2].parameters()
        return sgd(own)

    def chosen(net):
        own = []
        for layer in net:
            if hasattr(layer, "weight"):
                own.extend(layer.parameters())
        return sgd(own)

    def grouped(net):
        decay = [p for p in net.parameters() if p.ndim > 1]
        rest = [p for p in net.parameters() if p.ndim <= 1]
        return torch.optim.SGD([{"params": decay, "weight_decay": 0.1}, {"params": rest}], lr=0.1)

    calm(*(lambda build=build: steps(build) for build in (joined, chosen, grouped)))


def test_a_name_bound_anew():
    """The list that another optimizer was given under the same name before is none of this one's."""

    def build(net):
        own = list(nn.Linear(2, 2).parameters())
        sgd(own)
        own = list(net[0].parameters())
        return torch.optim.SGD(own, lr=0.1)

    report = inspected(lambda: steps(build))
    (finding,) = (finding for finding in report.findings if finding.rule == "AG404")
    assert "own = list(net[0].parameters())" in roles(finding)
    assert "own = list(nn.Linear(2, 2).parameters())" not in roles(finding)
