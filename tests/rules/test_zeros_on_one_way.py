"""AG306 and AG108: hooks and Functions that turn a gradient into zeros, on the only way or on one of several."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary, trained

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 4, generator=torch.Generator().manual_seed(2))


def hooked_loss():
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        loss = F.mse_loss(net(X), Y)
        loss.register_hook(lambda gradient: gradient * 0)  # Zeros.
        trained(optimizer, loss)


def test_a_hook_on_the_loss_itself():
    """The run begins with a gradient of one, and the hook makes zeros of it before the first node."""
    diagnosed(hooked_loss, "AG306", "Zeros.", "weight", severity="warning", values=True)


class Stopped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return torch.zeros_like(grad)  # Zeros.


def by_hook(h):
    h.register_hook(torch.zeros_like)  # Zeros.
    return h


def residual(stop):
    def program():
        net, head = nn.Linear(4, 4), nn.Linear(4, 4)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for _ in range(2):
            h = net(X)
            trained(optimizer, F.mse_loss(head(h + stop(h.tanh())), Y))

    return program


@pytest.mark.parametrize(
    ("stop", "where", "rule"), [(by_hook, by_hook, "AG306"), (Stopped.apply, Stopped.backward, "AG108")]
)
def test_zeros_on_one_of_two_ways(stop, where, rule):
    """What lies behind learns past the residual connection: worth seeing, and no more."""
    report = inspected(residual(stop), values=True)
    told = [finding for finding in report.findings if finding.rule == rule]
    assert [finding.severity for finding in told] == ["info"], summary(report)
    assert line_of(where, "Zeros.") in [place.lineno for place in told[0].locations], summary(report)
    assert "other paths" in told[0].message
    assert not alarms(report)
