"""AG502: a chain of graphs is a path in the data flow, each link computed with the result of the one before."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.rand(8, 1, generator=torch.Generator().manual_seed(2))


def pair():
    net = nn.Linear(4, 1)
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def normalised(t):
    return (t - t.min()) / (t.max() - t.min() + 1e-6)


def test_helper_that_forward_and_the_loop_both_call():
    """A line that meets its own result of the step before chains nothing, where it goes on from other values."""

    def program(rounds):
        net, optimizer = pair()
        for _ in range(rounds):
            out = normalised(net(X))
            loss = F.mse_loss(out, Y)
            trained(optimizer, loss)
            normalised(out).detach()

    calm(lambda: program(5))
    assert not alarms(inspected(lambda: program(30)))


def test_average_that_begins_with_a_loss():
    """The first loss is the average itself, so its graph counts as well; so it does in a loop of one line."""

    def average():
        net, optimizer = pair()
        mean = None
        for _ in range(5):
            loss = F.mse_loss(net(X), Y)
            trained(optimizer, loss)
            mean = loss if mean is None else 0.9 * mean + 0.1 * loss

    def one_line():
        net, optimizer = pair()
        total = 0
        for _ in range(5): loss = F.mse_loss(net(X), Y); trained(optimizer, loss); total += loss  # noqa: E701, E702  # fmt: skip

    diagnosed(average, "AG502", "0.9 * mean", "mean", "of 5 steps", severity="warning")
    diagnosed(one_line, "AG502", "total += loss", "total", "of 5 steps", severity="warning")


class Centred(nn.Module):
    """Takes a running mean off, without gradient; its own update keeps one."""

    def __init__(self, cut):
        super().__init__()
        self.linear, self.cut = nn.Linear(4, 4), cut
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x):
        h = self.linear(x)
        self.mean = 0.9 * self.mean + 0.1 * self.cut(h).mean(0)
        return h - self.mean.detach()


def test_chain_that_is_read_behind_a_cut():
    """A backward does not run through what it reads behind `detach()`."""

    def program(cut):
        net = Centred(cut)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            trained(optimizer, net(X).pow(2).mean())

    diagnosed(
        lambda: program(lambda h: h), "AG502", "self.mean = 0.9", "self.mean", "4 steps", severity="warning",
        where=Centred.forward,
    )  # fmt: skip
    calm(lambda: program(torch.Tensor.detach))
