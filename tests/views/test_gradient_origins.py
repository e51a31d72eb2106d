"""The placement says of which losses each parameter's last gradient was the sum."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.analysis.report_data import ReportData
from autograd_inspector.api.report import Report
from autograd_inspector.views.encoding import record_of
from autograd_inspector.views.notebook.condensed import condensed


@pytest.fixture(scope="module")
def adversaries() -> Report:
    """The critic steps with both losses, the generator with its own."""
    generator, critic = nn.Linear(2, 2), nn.Linear(2, 1)
    own, other = torch.optim.SGD(generator.parameters()), torch.optim.SGD(critic.parameters())
    with autograd_inspector.inspect() as inspection:
        g_loss = critic(generator(torch.ones(3, 2))).mean()
        g_loss.backward()
        own.step()
        d_loss = critic(torch.ones(3, 2)).mean()
        d_loss.backward()
        other.step()
    return inspection.report


def frames_of(wire, site):
    """The source lines of a site."""
    start = sum(wire.sites.chain[:site])
    chain = wire.chain.frame[start : start + wire.sites.chain[site]]
    return [wire.strings[wire.frames.source[frame]] for frame in chain]


def test_text_says_where_gradients_come_from(adversaries):
    """A line for all parameters of one origin, below the table; a report that was saved says the same."""
    for report in (adversaries, Report.from_json(adversaries.to_json())):
        text = " ".join(report.to_text(width=200).split())
        assert "gradient of generator.weight, generator.bias: from `g_loss` (test_gradient_origins.py:" in text
        both = text.partition("gradient of critic.weight, critic.bias: from `g_loss`")[2]
        assert "and `d_loss` (test_gradient_origins.py:" in both
        assert "not cleared between" in both


def test_the_wire_has_it_of_each_row(adversaries):
    """Whole and condensed alike; of a program without a step there is nothing."""
    data = ReportData(adversaries.capture, adversaries.findings)
    for report in (data, condensed(data, rows=10)):
        wire = record_of(report)
        losses = {row: [loss.said for loss in origin.losses] for origin in wire.gradients for row in origin.parameters}
        for number, row in enumerate(report.placement.rows):
            assert losses[number] == (["`g_loss`", "`d_loss`"] if "critic" in row.name else ["`g_loss`"])
        lines = [frames_of(wire, loss.site)[0] for origin in wire.gradients for loss in origin.losses]
        assert all("backward()" in line for line in lines)
    with autograd_inspector.inspect() as inspection:
        nn.Linear(2, 1)(torch.ones(3, 2)).sum().backward()
    assert record_of(ReportData(inspection.report.capture)).gradients == ()
