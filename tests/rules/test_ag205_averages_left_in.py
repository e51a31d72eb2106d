"""AG205: a running average that replaces the parameters for an evaluation, and stays in them."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import diagnosed
from .twins import calm


class Average:
    """A running average of parameters, which can take their place."""

    def __init__(self, net, how):
        self.shadow, self.kept, self.how = [p.detach().clone() for p in net.parameters()], [], how

    @torch.no_grad()
    def update(self, net):
        for shadow, p in zip(self.shadow, net.parameters(), strict=True):
            if self.how == "lerp":
                shadow.lerp_(p, 0.1)
            elif self.how == "mul":
                shadow.mul_(0.9).add_(p, alpha=0.1)
            else:
                shadow.sub_((shadow - p).mul_(0.1))

    def store(self, net):
        self.kept = [p.detach().clone() for p in net.parameters()]

    @torch.no_grad()
    def put_in(self, net):
        for shadow, p in zip(self.shadow, net.parameters(), strict=True):
            p.data.copy_(shadow)

    @torch.no_grad()
    def restore(self, net):
        for kept, p in zip(self.kept, net.parameters(), strict=False):
            p.data.copy_(kept)


@torch.no_grad()
def evaluate(net, average, *, store, first, left):
    if first:
        net.eval()
    if store:
        average.store(net)
    average.put_in(net)  # Put in.
    if not first:
        net.eval()
    net(torch.randn(8, 4)).pow(2).mean().item()
    if not left:
        average.restore(net)
    net.train()


def training(*, how="lerp", store=False, first=True, left=False, last=False):
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    average = Average(net, how)
    for step in range(6):
        optimizer.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
        average.update(net)
        if step == 5 if last else step % 2:
            evaluate(net, average, store=store, first=first, left=left)


@pytest.mark.parametrize("how", ["lerp", "mul", "sub"])
def test_an_average_that_stays_in(how):
    """Nothing was stored, so that nothing is restored; or who calls forgets to."""
    finding = diagnosed(
        lambda: training(how=how), "AG205", "# Put in.", "0.weight", "2.bias", severity="warning", where=evaluate
    )
    assert "average" in finding.message
    diagnosed(
        lambda: training(how=how, left=True), "AG205", "# Put in.", "0.weight", severity="warning", where=evaluate
    )


def test_averages_that_give_way():
    """What was stored is restored, the training is over, or the average goes in while the model is in train mode."""
    calm(lambda: training(store=True), lambda: training(last=True), lambda: training(first=False))


def test_a_training_that_continues_from_its_averages():
    """Lookahead puts its slow weights in while the model trains; the best weights that are loaded are no average."""

    def lookahead():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        average = Average(net, "lerp")
        for step in range(6):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
            if step % 2:
                average.update(net)
                average.put_in(net)
                net.eval()
                with torch.no_grad():
                    net(torch.randn(8, 4))
                net.train()

    def best():
        net = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        kept = Average(net, "lerp")
        for step in range(6):
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
            net.eval()
            with torch.no_grad():
                if step == 3:
                    kept.put_in(net)
                net(torch.randn(8, 4))
            net.train()

    calm(lookahead, best)
