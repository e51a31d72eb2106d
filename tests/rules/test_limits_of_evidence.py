"""Findings that once hung on a number somebody chose: now on the range of a dtype, or on what happened more often."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def test_weights_that_have_grown():
    """The size of the weights is blamed where they are large, and not where a mask is and a divisor is zero."""

    def diverging():
        w = nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([w], lr=1e6)
        for _ in range(12):
            optimizer.zero_grad()
            (w.pow(2) * 3).sum().backward()
            optimizer.step()

    def masked():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for count in (2.0, 4.0, 0.0):
            optimizer.zero_grad()
            scores = net(X).masked_fill(Y < 0.5, -1e9)
            (scores / torch.tensor(count)).clamp(min=-5).pow(2).mean().backward()
            optimizer.step()

    grown = diagnosed(diverging, "AG304", "w.pow(2)", severity="error", values=True)
    assert "w reaches" in grown.message
    assert "learning rate" in grown.fix
    divided = diagnosed(masked, "AG304", "scores / torch", severity="error", values=True)
    assert "reaches" not in divided.message
    assert "never 0" in divided.fix


@pytest.mark.parametrize("epochs", [3, 40])
def test_rounds_of_two_lengths(epochs):
    """Clearing in each micro-batch loses gradients, also where every second round is a single one."""

    def program(*, often):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
        for _ in range(epochs):
            for batch in range(4):
                if often or batch in {0, 3}:
                    optimizer.zero_grad()
                F.mse_loss(net(X), Y).backward()
                if batch in {2, 3}:
                    optimizer.step()

    if epochs == 3:
        diagnosed(lambda: program(often=True), "AG305", "optimizer.zero_grad()", severity="warning", where=program)
    report = inspected(lambda: program(often=False))
    assert not alarms(report)
