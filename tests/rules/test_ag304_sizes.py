"""AG304: whether the weights, the data or a step made values that are too large, in long runs as well."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))


def nan(program, culprit, *names, where=None):
    return diagnosed(program, "AG304", culprit, *names, severity="error", where=where, values=True)


def diverging(steps, rate, *, stops=False):
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    for number in range(steps):
        error = net(X.roll(number, 0)[:3]) - 1
        squared = error.pow(2)
        loss = squared.mean()
        trained(optimizer, loss)
        if stops and not torch.isfinite(loss):
            break


@pytest.mark.parametrize(("steps", "stops"), [(16, False), (60, False), (400, True)])
def test_divergence(steps, stops):
    """The first Inf of the run is told, also where its step is folded away: the weights have become that large."""
    found = nan(
        lambda: diverging(steps, 2.0 if stops else 50.0, stops=stops), "error.pow(2)", "first Inf",
        "net.weight reaches", "learning rate", where=diverging,
    )  # fmt: skip
    assert "fractional" not in found.fix


def test_steps_that_do_not_diverge():
    """A learning rate that is small enough: nothing to tell."""
    calm(lambda: diverging(12, 0.01))


def test_outlier_in_the_data():
    """The weights are as small as before: the data are too large, and the learning rate has no part in it."""

    def program(outlier):
        torch.manual_seed(0)
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-6)
        batches = [X * 0.1, X, X.clone()]
        batches[2][3, 2] = outlier
        for batch in batches:
            error = net(batch) - 1
            squared = error.pow(2)
            trained(optimizer, squared.mean())

    found = nan(lambda: program(1e25), "error.pow(2)", "no parameter", "larger than 0.", "outlier", where=program)
    assert "learning rate" not in found.fix
    calm(lambda: program(1.0))


def test_step_that_makes_the_first_one():
    """Loss and gradients were finite: the step is told, with its setting where that tells, and no op that reads it."""

    def divided(eps):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3, eps=eps)
        data = X.clone()
        data[:, 1] = 0
        for _ in range(2):
            trained(optimizer, net(data).pow(2).mean())

    def endless(rate):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
        for _ in range(2):
            trained(optimizer, net(X).pow(2).mean())

    for program, bad, good, names in (
        (divided, 0.0, 1e-8, ("`Adam.step`", "first NaN", "0.weight", "eps is 0")),
        (endless, float("inf"), 0.01, ("`SGD.step`", "first Inf", "weight", "learning rate is inf")),
    ):
        nan(lambda program=program, bad=bad: program(bad), "optimizer.step()", *names, where=trained)
        calm(lambda program=program, good=good: program(good))
