"""Programs under test, small enough to read their wire."""

from __future__ import annotations

import contextlib

import torch
from msgspec.structs import replace
from torch import nn

import autograd_inspector
from autograd_inspector import RanksReport, Report
from autograd_inspector.api.ranks import with_reports
from autograd_inspector.model.ranks import Lane


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(4, 8)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        hidden = torch.sigmoid(self.encoder(x))
        out = self.head(self.norm(hidden))
        hidden.add_(1.0)
        return out


def broken() -> Report:
    """Modifies a saved tensor, and fails in backward."""
    net = Net()
    with autograd_inspector.inspect() as inspection:
        loss = net(torch.ones(3, 4)).sum()
        with contextlib.suppress(RuntimeError):
            loss.backward()
    return inspection.report


def detached() -> Report:
    """Cuts its encoder off, and trains the head."""
    encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()])
    with autograd_inspector.inspect() as inspection:
        h = encoder(torch.ones(3, 4)).detach()
        with torch.no_grad():
            h.mean()
        head(h).sum().backward()
        optimizer.step()
    return inspection.report


def attached() -> Report:
    """The same without the cut, and with values read."""
    encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()])
    with autograd_inspector.inspect(values=True) as inspection:
        head(encoder(torch.ones(3, 4))).sum().backward()
        optimizer.step()
    return inspection.report


def deep(blocks: int = 12, width: int = 4) -> Report:
    """Equal blocks, trained for one step."""
    net = nn.Sequential(
        *[nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(blocks)]
    )
    optimizer = torch.optim.AdamW(net.parameters())
    with autograd_inspector.inspect() as inspection:
        net(torch.ones(3, width)).sum().backward()
        optimizer.step()
    return inspection.report


def vitals() -> Report:
    """Trains for 12 steps with values read: one layer is dead, and the last loss is NaN."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    with torch.no_grad():
        net[2].bias.fill_(-100.0)
    optimizer = torch.optim.AdamW(net.parameters())
    with autograd_inspector.inspect(values=True) as inspection:
        for step in range(12):
            loss = net(torch.randn(3, 4)).square().mean()
            if step == 11:
                loss = loss * float("nan")
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return inspection.report


def ranks() -> RanksReport:
    """Three ranks of four: each has another learning rate, the second cuts its first layer off and waits."""
    merged = autograd_inspector.merge_reports([_rank(number) for number in range(3)])
    step = ("all_reduce train.py:7", 2)
    lanes = (
        Lane((0, 2), (step, ("AdamW.step train.py:9", 1))),
        Lane((1,), (step,), "waits in barrier train.py:8"),
        Lane((3,), ending="no report"),
    )
    placement = replace(merged.placement, world_size=4, missing=(3,))
    return with_reports(replace(merged, placement=placement, lanes=lanes), merged.reports)


def _rank(number: int) -> Report:
    encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *head.parameters()], lr=0.1 * (number + 1))
    with autograd_inspector.inspect() as inspection:
        hidden = encoder(torch.ones(3, 4))
        if number == 1:
            hidden = hidden.detach()
        head(hidden).sum().backward()
        optimizer.step()
    return inspection.report
