"""AG101, AG102: computed values that are copied into a parameter, which goes on requiring grad."""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.func import functional_call

from .programs import alarms, finding_text, inspected, line_of, silent, summary, trained

X, Z = torch.randn(5, 4), torch.ones(3)


def generated(use):
    """A network that makes the weight of another one."""
    maker, net = nn.Linear(3, 8), nn.Linear(4, 2, bias=False)
    optimizer = torch.optim.Adam(maker.parameters(), lr=0.01)
    for _ in range(2):
        trained(optimizer, use(net, maker(Z).view(2, 4)).pow(2).mean())


def by_copy(net, weight):
    with torch.no_grad():
        net.weight.copy_(weight)
    return net(X)


def by_loading(net, weight):
    net.load_state_dict({"weight": weight})
    return net(X)


def by_call(net, weight):
    return functional_call(net, {"weight": weight}, (X,))


def test_a_generated_weight_that_is_copied_in():
    """The maker gets no gradient: the copy is told, not that the maker is unused."""
    for use, code, culprit in ((by_copy, "AG102", "with torch.no_grad()"), (by_loading, "AG101", "load_state_dict")):
        report = inspected(lambda use=use: generated(use))
        found = next(f for f in alarms(report) if f.rule == code)
        assert found.locations[0].lineno == line_of(use, culprit), summary(report)
        assert "maker.weight" in finding_text(found)
        assert "net.weight" in found.message
        assert "AG301" not in {f.rule for f in alarms(report)}, summary(report)
    silent(lambda: generated(by_call))


def test_copies_that_are_meant():
    """A target network that follows, best weights put back, and a weight clipped in place cut nothing."""

    def followed():
        net = nn.Linear(4, 2)
        target = copy.deepcopy(net).requires_grad_(False)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            trained(optimizer, (net(X) - target(X)).pow(2).mean() + net(X).mean())
            with torch.no_grad():
                for mine, theirs in zip(target.parameters(), net.parameters(), strict=True):
                    mine.lerp_(theirs, 0.1)

    def put_back():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters())
        best = copy.deepcopy(net.state_dict())
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())
        net.load_state_dict(best)
        trained(optimizer, net(X).pow(2).mean())

    silent(followed, put_back)
