"""AG413: an option of a parameter group that its optimizer does not know."""

from __future__ import annotations

import torch
from torch import nn

from .programs import alarms, inspected


def hints(*extra):
    """The hints on a run whose second group has other keys as well."""

    def program():
        net = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1))
        groups = [{"params": net[0].parameters()}, {"params": net[1].parameters(), **dict(extra)}]
        optimizer = torch.optim.AdamW(groups, lr=1e-3)
        optimizer.zero_grad()
        net(torch.ones(3, 2)).mean().backward()
        optimizer.step()

    report = inspected(program)
    assert not alarms(report)
    return [finding for finding in report.findings if finding.rule == "AG413"]


def test_a_number_under_an_unknown_key_is_a_hint():
    """`learning_rate` is not read by AdamW; its own options, a name and a flag are nothing to tell."""
    (hint,) = hints(("learning_rate", 1e-2))
    assert hint.severity == "info"
    assert "learning_rate" in hint.message
    assert "lr" in hint.fix
    assert not hints(("lr", 1e-2), ("weight_decay", 0.0), ("name", "head"), ("decayed", False))
