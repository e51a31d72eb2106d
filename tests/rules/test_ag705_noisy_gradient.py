"""AG705: a layer whose gradient is all noise."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .programs import inspected, line_of, summary


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.good, self.bad = nn.Linear(16, 64), nn.Linear(64, 16), nn.Linear(64, 16)
        nn.init.zeros_(self.bad.weight)

    def forward(self, x):
        hidden = self.body(x).tanh()
        return self.good(hidden), self.bad(hidden)


def trained(targets, steps=48, lr=0.01):
    torch.manual_seed(0)
    net = Heads()
    optimizer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(steps):
        x = torch.randn(64, 16)
        one, other = targets(x)
        good, bad = net(x)
        loss = (good - one).pow(2).mean() + (bad - other).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def found(program):
    report = inspected(program, values=True)
    return [finding for finding in report.findings if finding.rule == "AG705"], summary(report)


def test_a_head_with_unrelated_targets():
    """The line that uses the weight, and both cosines; nothing worse than an info."""
    [finding], said = found(lambda: trained(lambda x: (x, torch.randn(64, 16))))
    assert finding.severity == "info", said
    assert finding.locations[0].lineno == line_of(Heads.forward, "self.bad(hidden)")
    assert finding.subjects == ("net.bad.weight",)
    assert float(finding.message.rpartition(" ")[2]) > 0.5
    assert "noise scale" in " ".join(finding.details)


@pytest.mark.parametrize(
    "targets",
    [
        lambda x: (x, -x),
        lambda _: (torch.randn(64, 16), torch.randn(64, 16)),
        lambda x: (x, x + torch.randn(64, 16)),
    ],
    ids=["related", "noise everywhere", "noise on top"],
)
def test_nothing_is_said(targets):
    """Of a head that learns, also from noisy targets, and of noise that all layers have."""
    findings, said = found(lambda: trained(targets))
    assert not findings, said


def test_a_few_steps_do_not_tell():
    """Of fewer than 32 angles a mean near 0 may be chance."""
    findings, said = found(lambda: trained(lambda x: (x, torch.randn(64, 16)), steps=30))
    assert not findings, said


def test_a_gradient_that_turns_round_is_no_noise():
    """A step that is too large has the opposite gradient the next time: its cosine is -1."""

    def program():
        torch.manual_seed(0)
        body, good, bad = nn.Linear(16, 64), nn.Linear(64, 16), nn.Linear(16, 16, bias=False)
        slow = torch.optim.SGD([*body.parameters(), *good.parameters()], lr=0.01)
        fast = torch.optim.SGD(bad.parameters(), lr=31.0)
        x = torch.eye(16).repeat(4, 1)
        for _ in range(48):
            loss = (good(body(x).tanh()) - x).pow(2).mean() + (bad(x) - x).pow(2).mean() * 8
            slow.zero_grad()
            fast.zero_grad()
            loss.backward()
            slow.step()
            fast.step()

    report = inspected(program, values=True)
    cosines = next(p.cosine for p in report.vitals.parameters if p.name.startswith("bad"))
    assert cosines.last < -0.9
    assert "AG705" not in {finding.rule for finding in report.findings}, summary(report)
