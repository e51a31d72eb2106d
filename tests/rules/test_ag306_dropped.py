"""AG306: gradients that the program drops between backward() and step()."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import alarms, inspected, line_of, summary

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def trained(drop, rounds=3):
    net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(rounds):
        optimizer.zero_grad()
        net(X).pow(2).mean().backward()
        drop(net, epoch)
        optimizer.step()


def to_none(net, _):
    net[1].weight.grad = None  # Dropped.


def to_zero(net, _):
    net[1].weight.grad.zero_()  # Dropped.


def by_module(net, _):
    net[1].zero_grad()  # Dropped.


@pytest.mark.parametrize("drop", [to_none, to_zero, by_module])
@pytest.mark.parametrize("rounds", [1, 4])
def test_dropped_at_every_step(drop, rounds):
    """Worth seeing, at the line that drops: the layer does not move, and that may be meant."""
    report = inspected(lambda: trained(drop, rounds))
    told = [finding for finding in report.findings if finding.rule == "AG306"]
    assert [finding.severity for finding in told] == ["info"], summary(report)
    assert told[0].locations[0].lineno == line_of(drop, "Dropped.")
    assert "1.weight" in " ".join(told[0].subjects)
    assert "0.weight" not in " ".join(told[0].subjects)
    assert not alarms(report)


def for_an_epoch(net, epoch):
    if epoch == 0:
        net[1].weight.grad = None


def replaced(net, _):
    kept = net[1].weight.grad
    net[1].weight.grad = None
    net[1].weight.grad = kept


@pytest.mark.parametrize("drop", [for_an_epoch, replaced])
def test_dropped_for_a_while(drop):
    """A warm-up that ends, and a gradient that is put back, are nothing to see."""
    report = inspected(lambda: trained(drop, 2))
    assert not [finding for finding in report.findings if finding.rule == "AG306"], summary(report)
