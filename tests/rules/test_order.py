"""Findings come in the order in which to repair."""

from __future__ import annotations

import torch
from torch import nn

from autograd_inspector.model.autograd import Backward, GraphHead
from autograd_inspector.model.capture import Capture
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location, Site
from autograd_inspector.rules.order import ordered

from .programs import inspected

FAILED, OTHER = Location("train.py", 30, "train"), Location("model.py", 7, "forward")
ENDED = Capture(
    sites=(Site((FAILED,)),),
    backwards=(Backward(0, "backward", 0, 0, 0, (), GraphHead(), error="RuntimeError: modified in place"),),
    error="RuntimeError: modified in place",
)


def found(rule, severity, *places):
    return Finding(rule, "name", severity, "message", locations=places)


def codes(capture, *findings):
    return [finding.rule for finding in ordered(capture, list(findings))]


def test_what_ended_the_program_comes_first():
    """Of two errors the one whose line raised is first, whatever their codes."""
    one, two = found("AG102", "error", OTHER), found("AG201", "error", OTHER, FAILED)
    assert codes(ENDED, one, two) == ["AG201", "AG102"]
    assert codes(Capture(), one, two) == ["AG102", "AG201"]


def test_a_warning_on_the_failing_line_is_no_cause():
    """What is only likely stands behind what is certain, also when it tells of the line that raised."""
    assert codes(ENDED, found("AG101", "warning", FAILED), found("AG410", "error", OTHER)) == ["AG410", "AG101"]


def test_equals_follow_the_way_of_a_gradient():
    """Cut before spoiled before starved before optimized; findings of one rule stay as the rule told them."""
    late, early = found("AG201", "error", FAILED), found("AG201", "error", OTHER)
    assert codes(Capture(), found("AG404", "error"), late, found("AG101", "error")) == ["AG101", "AG201", "AG404"]
    assert ordered(Capture(), [late, early]) == [late, early]


def test_report_starts_with_what_raised():
    """A program that has two causes and raised for one of them: that one is told first."""

    def program():
        encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
        x = torch.randn(6, 3)
        head(encoder(x).tanh().detach()).sum().backward()
        optimizer.step()
        hidden = torch.sigmoid(encoder(x))
        loss = head(hidden).sum() + hidden.square().sum()
        hidden.add_(1.0)
        loss.backward()

    report = inspected(program)
    assert report.findings[0].rule == "AG201"
    assert len(report.findings) > 1
