"""AG406: parameters that an optimizer holds, frozen, although the program seems to mean otherwise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import alarms, diagnosed, inspected, line_of, quoted, summary, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


def trained_for(steps, optimizer, net):
    for _ in range(steps):
        trained(optimizer, F.cross_entropy(net(X), Y))


def test_comparison_that_was_to_thaw():
    """`p.requires_grad == True` changes nothing, at each of the parameters, also long ago."""

    def unfreeze(layer):
        for p in layer.parameters():
            p.requires_grad == True  # noqa: B015, E712

    def program(*, steps):
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.Adam(net[2].parameters(), lr=0.01)
        trained_for(1, optimizer, net)
        unfreeze(net[0])
        optimizer.add_param_group({"params": net[0].parameters(), "lr": 1e-4})
        trained_for(steps, optimizer, net)

    for steps in (1, 40):
        finding = diagnosed(
            lambda steps=steps: program(steps=steps), "AG406", "p.requires_grad == True", "0.weight", "0.bias",
            severity="warning", where=unfreeze,
        )  # fmt: skip
        assert quoted(finding.fix) == [".requires_grad = True"]


def test_comparison_that_was_to_freeze():
    """`p.requires_grad == False` leaves the parameter learning."""

    def program():
        net = network()
        for p in net[0].parameters():
            p.requires_grad == False  # noqa: B015, E712
        trained_for(2, torch.optim.Adam(net.parameters(), lr=0.01), net)

    finding = diagnosed(program, "AG406", "p.requires_grad == False", "0.weight", severity="warning")
    assert "not frozen" in finding.message


def test_comparisons_that_mean_it():
    """A comparison whose result is used asks, and one that finds what it wants hides nothing."""

    def program():
        net = network()
        net[0].requires_grad_(False)
        mine = [p for p in net.parameters() if p.requires_grad == True]  # noqa: E712
        for p in net[2].parameters():
            p.requires_grad == True  # noqa: B015, E712
            assert p.requires_grad == True  # noqa: E712
            frozen = p.requires_grad == False  # noqa: E712
            assert not frozen
        trained_for(2, torch.optim.Adam(mine, lr=0.01), net)

    def thawed():
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        trained_for(1, optimizer, net)
        for p in net[0].parameters():
            p.requires_grad == True  # noqa: B015, E712
            p.requires_grad = True
        trained_for(2, optimizer, net)

    calm(program, thawed)


class Tagger(nn.Module):
    def __init__(self, **how):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(torch.ones(5, 4), **how)
        self.out = nn.Linear(4, 2)

    def forward(self, ids):
        return self.out(self.embed(ids))


def tagged(**how):
    net = Tagger(**how)
    optimizer = torch.optim.Adam([{"params": net.embed.parameters(), "lr": 1e-4}, {"params": net.out.parameters()}])
    for _ in range(2):
        trained(optimizer, F.cross_entropy(net(torch.arange(5)), Y[:5]))


def test_frozen_group_of_its_own():
    """A group of its own for what is frozen from first to last is worth a hint, and no alarm."""
    report = inspected(tagged)
    assert not alarms(report), summary(report)
    (finding,) = report.findings
    assert (finding.rule, finding.subjects) == ("AG406", ("net.embed.weight",))
    lines = [place.lineno for place in finding.locations]
    assert line_of(tagged, "optimizer = ") in lines
    assert line_of(Tagger.__init__, "from_pretrained") in lines


def test_groups_without_a_hint():
    """Thawed in time, frozen after it learned, frozen in a group with others, or with no other group."""

    def gradual():
        net = network()
        net[0].requires_grad_(False)
        optimizer = torch.optim.Adam([{"params": net[0].parameters()}, {"params": net[2].parameters()}], lr=0.01)
        trained_for(2, optimizer, net)
        net[0].requires_grad_(True)
        trained_for(2, optimizer, net)

    def later():
        net = network()
        optimizer = torch.optim.Adam([{"params": net[0].parameters()}, {"params": net[2].parameters()}], lr=0.01)
        trained_for(2, optimizer, net)
        net[0].requires_grad_(False)
        trained_for(40, optimizer, net)

    def mixed():
        net = network()
        net[0].requires_grad_(False)
        trained_for(2, torch.optim.Adam(net.parameters(), lr=0.01), net)

    for program in (lambda: tagged(freeze=False), gradual, later, mixed):
        report = inspected(program)
        assert not report.findings, summary(report)
