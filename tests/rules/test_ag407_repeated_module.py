"""AG407: one module several times in a list."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def steps(net, loss=lambda net: net(X).pow(2).mean(), count=2):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(count):
        trained(optimizer, loss(net))


class Voting(nn.Module):
    """Members that see the same inputs."""

    def __init__(self, members):
        super().__init__()
        self.voters = nn.ModuleList(members)

    def forward(self, x):
        return torch.stack([voter(x) for voter in self.voters]).mean(0)


def expert(*more):
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), *more, nn.Linear(6, 2))


def test_ensemble_of_one_member():
    """Copies that get the same inputs are all equal for ever; members of their own are an ensemble."""

    def program():
        steps(Voting([expert()] * 3))  # one

    diagnosed(
        program, "AG407", "self.voters = nn.ModuleList", "voters.0", "voters.2", severity="warning",
        where=Voting.__init__,
    )  # fmt: skip
    calm(lambda: steps(Voting([expert() for _ in range(3)])))


def test_equal_inputs_beside_others():
    """Two of the same critic, given the same state and action; the second of them that is a copy is its own."""

    class Twin(nn.Module):
        def __init__(self, shared):
            super().__init__()
            q = nn.Linear(4, 1)
            self.q = nn.Sequential(q, q if shared else nn.Linear(4, 1))  # two

        def forward(self, x):
            return torch.minimum(self.q[0](x), self.q[1](x))

    finding = diagnosed(
        lambda: steps(Twin(shared=True)), "AG407", "# two", "q.0", severity="warning", where=Twin.__init__
    )
    assert "2 times" in finding.message
    calm(lambda: steps(Twin(shared=False)))


def test_copies_that_differ_by_chance():
    """With dropout the results differ: samples of one network, which may be meant."""
    report = inspected(lambda: steps(Voting([expert(nn.Dropout(0.5))] * 3)))
    assert [(f.rule, f.severity) for f in report.findings] == [("AG407", "info")], summary(report)


class Stack(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.blocks = nn.ModuleList(layers)
        self.out = nn.Linear(4, 2)

    def forward(self, x):
        for block in self.blocks:
            x = torch.relu(block(x))
        return self.out(x)


def test_layers_that_share_their_parameters():
    """One layer after itself is shared on purpose, or by accident: a hint at the line that lists it."""
    for stack in (lambda: [nn.Linear(4, 4)] * 3, lambda: [nn.Linear(4, 4), nn.LayerNorm(4)] * 2):
        report = inspected(lambda stack=stack: steps(Stack(stack()), lambda net: F.cross_entropy(net(X), Y)))
        assert not alarms(report), summary(report)
        assert {f.rule for f in report.findings} == {"AG407"}, summary(report)
        finding = report.findings[0]
        assert "blocks.0" in finding.message
        assert finding.locations[0].lineno == line_of(Stack.__init__, "self.blocks =")


def test_lists_without_a_hint():
    """Activations have nothing to share, a loop calls one layer by its one name, and a tied weight is no module."""

    class Looped(nn.Module):
        def __init__(self):
            super().__init__()
            self.block = nn.Linear(4, 4)

        def forward(self, x):
            for _ in range(3):
                x = torch.relu(self.block(x))
            return x

    def tied():
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
        net[1].weight = net[0].weight
        return net

    act = nn.ReLU()
    for make in (lambda: nn.Sequential(nn.Linear(4, 4), act, nn.Linear(4, 4), act), Looped, tied):
        report = inspected(lambda make=make: steps(make()))
        assert not report.findings, summary(report)
