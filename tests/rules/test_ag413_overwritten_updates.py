"""AG413: updates that are overwritten before anything is computed with them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from .programs import alarms, diagnosed, inspected, summary, trained
from .twins import calm


class ActNorm(nn.Module):
    """Sets its shift from the first batch, or from each."""

    def __init__(self, once):
        super().__init__()
        self.once, self.shift = once, nn.Parameter(torch.zeros(4))
        self.register_buffer("done", torch.tensor(0))

    def forward(self, x):
        if not self.done:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))  # Set.
            self.done.fill_(int(self.once))
        return x + self.shift


def rounds(net, before=lambda net: None, after=lambda net: None, count=4):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(count):
        before(net)
        trained(optimizer, net(torch.randn(8, 4)).pow(2).mean())
        after(net)


def flow(once):
    return nn.Sequential(ActNorm(once), nn.Linear(4, 2))


def test_a_parameter_that_each_forward_sets():
    """The layer takes each batch for the first: what step() gave the shift is gone unread. Set once, it learns."""
    diagnosed(
        lambda: rounds(flow(once=False)),
        "AG413",
        "# Set.",
        "0.shift",
        "3 steps",
        severity="warning",
        where=ActNorm.forward,
    )
    calm(lambda: rounds(flow(once=True)))


def test_layers_that_are_tied_by_a_copy():
    """The second layer is given the weights of the first before each forward: its lost updates follow from AG109."""

    def tie(net):
        with torch.no_grad():
            net[1].weight.copy_(net[0].weight)  # Tied.

    def pair():
        return nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))

    [found] = alarms(inspected(lambda: rounds(pair(), tie)))
    assert found.rule == "AG109"
    assert any("AG413" in line and "1.weight" in line for line in found.consequences)


def test_looks_at_the_lost_values():
    """A comparison, a number for a log, and a copy that nobody reads change nothing: no loss is computed with them."""

    def looks(net):
        assert net[0].shift.detach().clone().norm().item() < 1e9

    diagnosed(
        lambda: rounds(flow(once=False), before=looks), "AG413", "# Set.", severity="warning", where=ActNorm.forward
    )


def test_weights_that_are_written_from_what_they_were():
    """Clipped, decayed, projected, standardised, averaged with slow weights, perturbed and restored, soft updated."""

    @torch.no_grad()
    def clipped(net):
        for p in net.parameters():
            p.clamp_(-0.5, 0.5)

    @torch.no_grad()
    def projected(net):
        net[1].weight.copy_(net[1].weight / net[1].weight.norm(dim=1, keepdim=True))

    @torch.no_grad()
    def standardised(net):
        weight = net[1].weight.data
        net[1].weight.data = (weight - weight.mean(1, keepdim=True)) / weight.std(1, keepdim=True)

    slow: list[torch.Tensor] = []

    @torch.no_grad()
    def lookahead(net):
        slow.extend([] if slow else [p.clone() for p in net.parameters()])
        for s, p in zip(slow, net.parameters(), strict=True):
            s.add_(p - s, alpha=0.5)
            p.copy_(s)

    @torch.no_grad()
    def decayed(net):
        for p in net.parameters():
            p.mul_(0.99)

    def linear():
        return nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

    calm(*(lambda after=each: rounds(linear(), after=after) for each in (clipped, projected, standardised, decayed)))
    calm(lambda: (slow.clear(), rounds(linear(), after=lookahead)))


def test_values_that_are_put_back():
    """Reptile and federated averaging read the trained values first; weights are held fast."""

    def reptile():
        net = nn.Linear(4, 2)
        start = copy.deepcopy(net.state_dict())
        for _ in range(3):
            worker = copy.deepcopy(net)
            optimizer = torch.optim.SGD(worker.parameters(), lr=0.1)
            with torch.no_grad():
                for name, p in worker.named_parameters():
                    p.copy_(start[name])
            trained(optimizer, worker(torch.randn(8, 4)).pow(2).mean())
            for name, p in worker.named_parameters():
                start[name] = start[name] + 0.5 * (p.detach() - start[name])

    def federated():
        server, client = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.SGD(client.parameters(), lr=0.1)
        for _ in range(3):
            sums = [torch.zeros_like(p) for p in server.parameters()]
            for _ in range(2):
                client.load_state_dict(server.state_dict())
                trained(optimizer, client(torch.randn(8, 4)).pow(2).mean())
                sums = [s + p.detach() for s, p in zip(sums, client.parameters(), strict=True)]
            with torch.no_grad():
                for s, p in zip(sums, server.parameters(), strict=True):
                    p.copy_(s / 2)

    def held_fast():
        first = torch.ones(2, 4)

        @torch.no_grad()
        def reset(net):
            net[1].weight.copy_(first)

        rounds(nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)), after=reset)

    calm(reptile, federated, held_fast)


def test_weights_that_each_forward_rounds():
    """A hint: what moves a weight by less than the grid is lost. Not where the weights are put back before the step."""

    class Rounded(nn.Linear):
        def forward(self, x):
            self.weight.data.copy_(torch.round(self.weight.data / 0.05) * 0.05)
            return super().forward(x)

    report = inspected(lambda: rounds(Rounded(4, 2)))
    [found] = [finding for finding in report.findings if finding.rule == "AG413"]
    assert found.severity == "info", summary(report)
    assert "`round` overwrites" in found.message

    def binary_connect():
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(3):
            kept = net.weight.detach().clone()
            with torch.no_grad():
                net.weight.copy_(kept.sign())
            optimizer.zero_grad()
            net(torch.randn(8, 4)).pow(2).mean().backward()
            with torch.no_grad():
                net.weight.copy_(kept)
            optimizer.step()

    assert not alarms(inspected(binary_connect))
    assert not [f for f in inspected(binary_connect).findings if f.rule == "AG413"]


class Rounding(torch.autograd.Function):
    """Round, with a straight-through gradient."""

    @staticmethod
    def forward(ctx, x, scale):
        return torch.round(x / scale).clamp(-3, 3) * scale

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Sparing(torch.autograd.Function):
    """The largest weights, and zeros."""

    @staticmethod
    def forward(ctx, x, scale):
        return x * torch.sign(x.abs() - scale).relu()

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


@pytest.mark.parametrize(("function", "infos"), [(Rounding, 1), (Sparing, 0)])
def test_weights_that_a_custom_function_rounds(function, infos):
    """With a scale that each forward takes of them; a mask leaves the other weights as the step has made them."""

    class Rounded(nn.Linear):
        def forward(self, x):
            scale = self.weight.detach().abs().amax() / 3
            self.weight.data = function.apply(self.weight, scale).detach()
            return super().forward(x)

    report = inspected(lambda: rounds(Rounded(4, 2)))
    assert not alarms(report)
    assert sum("overwrites" in finding.message for finding in report.findings) == infos
