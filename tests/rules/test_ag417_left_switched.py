"""AG417: an attribute that is switched for an evaluation, and keeps its value when training continues."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, inspected
from .twins import calm


class Deep(nn.Module):
    """Two heads, of which the lower one is used as long as a flag says so."""

    def __init__(self):
        super().__init__()
        self.trunk, self.low, self.high = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 2)
        self.deep = True
        self.cache = None

    def forward(self, x):
        x = self.trunk(x).relu()
        if self.cache is not None:
            x = x + self.cache(x)
        return [self.high(x), self.low(x)] if self.deep else [self.high(x)]


class Cache(nn.Module):
    @torch.no_grad()
    def forward(self, x):
        return x.mean(0)


def trained(rounds, *, switch=lambda net, i: None, look=lambda net, i: None):
    """Two steps a round, and an evaluation after each round."""
    net = Deep()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i in range(rounds):
        switch(net, i)
        net.train()  # resumed
        for _ in range(2):
            optimizer.zero_grad()
            sum(out.pow(2).mean() for out in net(torch.randn(3, 4))).backward()
            optimizer.step()
        look(net, i)


def evaluated(net, _):
    net.deep = False  # for the evaluation
    net.eval()
    with torch.no_grad():
        net(torch.randn(3, 4))


def test_a_head_that_an_evaluation_switches_off():
    """It gets no gradient in the rounds behind."""
    finding = diagnosed(
        lambda: trained(3, look=evaluated), "AG417", "# for the evaluation", "low.weight", "deep", "True to False",
        severity="warning", where=evaluated,
    )  # fmt: skip
    assert [edit.text.strip() for edit in finding.edits] == ["net.deep = True"]


def test_set_back_or_never_read_by_training():
    """Set back behind the evaluation, or before the next round."""

    def restored(net, i):
        evaluated(net, i)
        net.deep = True

    calm(
        lambda: trained(3, look=restored),
        lambda: trained(3, look=evaluated, switch=lambda net, i: setattr(net, "deep", True)),
    )


def test_a_schedule_is_a_hint():
    """A part that is switched off for training, and an evaluation that only finds it so."""

    def later(net, i):
        net.deep = i < 1

    def looked(net, i):
        net.deep = i < 1
        net.eval()
        with torch.no_grad():
            net(torch.randn(3, 4))

    def before_and_after(net, i):
        net.deep = i < 2
        net.eval()
        with torch.no_grad():
            net(torch.randn(3, 4))

    for program in (
        lambda: trained(3, switch=later),
        lambda: trained(3, switch=later, look=looked),
        lambda: trained(4, look=before_and_after),
    ):
        report = inspected(program)
        (finding,) = (f for f in report.findings if f.rule == "AG417")
        assert finding.severity == "info"
        assert "on purpose" in finding.fix


def test_parts_in_turns_or_by_chance():
    """A flag that alternates, one that is drawn for each call, and a module that joins and takes no gradient away."""

    def in_turns(net, i):
        net.deep = i % 2 == 0

    def by_chance():
        net = Deep()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for i in (True, False, True, True, False, True, False, False):
            net.deep = i
            optimizer.zero_grad()
            sum(out.pow(2).mean() for out in net(torch.randn(3, 4))).backward()
            optimizer.step()

    def cached(net, _):
        net.cache = Cache()
        net.eval()
        with torch.no_grad():
            net(torch.randn(3, 4))

    calm(lambda: trained(4, switch=in_turns), by_chance, lambda: trained(3, look=cached))
