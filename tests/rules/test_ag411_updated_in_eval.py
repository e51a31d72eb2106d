"""AG411: buffers that a forward computes of the data in eval mode as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from .programs import alarms, inspected, line_of, summary, trained


class Averaging(nn.Module):
    """Centres its input by a running mean."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("seen", torch.zeros(()))
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.update(x)
        return self.lin(x - self.mean)

    @torch.no_grad()
    def update(self, x: Tensor) -> None:
        self.mean.lerp_(x.mean(0), 0.1)  # Updated.


class Copied(Averaging):
    @torch.no_grad()
    def update(self, x: Tensor) -> None:
        self.mean.copy_(0.9 * self.mean + 0.1 * x.mean(0))


class Checked(Averaging):
    def update(self, x: Tensor) -> None:
        if self.training:
            super().update(x)


class Counting(Averaging):
    @torch.no_grad()
    def update(self, _: Tensor) -> None:
        self.seen.add_(1)
        self.mean.copy_(1 / self.seen.expand(4))


class PowerIteration(Averaging):
    @torch.no_grad()
    def update(self, _: Tensor) -> None:
        self.mean.copy_(self.lin.weight @ self.mean)


class Metric(Averaging):
    """Its total is only read in the end."""

    def forward(self, x: Tensor) -> Tensor:
        self.seen += x.detach().mean()
        return self.lin(x)


def program(make: Callable[[], nn.Module], then: Callable[[nn.Module], Any] | None = None) -> Callable[[], None]:
    """Train and evaluate, twice."""

    def run() -> None:
        net = make()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            net.train()
            trained(optimizer, net(torch.randn(8, 4)).pow(2).mean())
            net.eval()
            if then is not None:
                then(net)
            with torch.no_grad():
                net(torch.randn(8, 4) + 3)

    return run


@pytest.mark.parametrize("make", [Averaging, Copied])
def test_running_mean_of_all_data(make):
    """An info names the buffer and the line, for the loss of the next epoch is computed with it."""
    report = inspected(program(make))
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("AG411", "info"), summary(report)
    assert "net.mean" in finding.message
    if make is Averaging:
        assert finding.locations[0].lineno == line_of(Averaging.update, "# Updated.")


@pytest.mark.parametrize("make", [Checked, Counting, PowerIteration, Metric, lambda: nn.Sequential(nn.BatchNorm1d(4))])
def test_what_is_not_of_the_evaluation_data(make):
    """Nothing is said of an update that asks for the mode, a count, a norm of weights, a metric or a batch norm."""
    report = inspected(program(make))
    assert not report.findings, summary(report)


def test_average_of_a_last_evaluation():
    """Nothing is said where no training follows the evaluation: test-time adaptation is meant to follow the data."""

    def run() -> None:
        net = Averaging()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            trained(optimizer, net(torch.randn(8, 4)).pow(2).mean())
        net.eval()
        with torch.no_grad():
            net(torch.randn(8, 4) + 3)

    report = inspected(run)
    assert not report.findings, summary(report)


def test_average_that_is_never_alarming():
    """It is no warning: who collects in eval mode may want the average of that."""
    assert not alarms(inspected(program(Averaging)))
