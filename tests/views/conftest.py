from __future__ import annotations

import pytest
import torch
from torch import nn

import autograd_inspector
from autograd_inspector.api.report import Report
from autograd_inspector.model.finding import Finding
from autograd_inspector.model.location import Location


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


@pytest.fixture(scope="session")
def broken() -> Report:
    """A program that modifies a saved tensor, and fails."""
    net = Net()
    with autograd_inspector.inspect() as inspection:
        loss = net(torch.ones(3, 4)).sum()
        with pytest.raises(RuntimeError, match="inplace"):
            loss.backward()
    return inspection.report


@pytest.fixture(scope="session")
def detached() -> Report:
    """A program whose encoder gets no gradient."""
    encoder, head = nn.Linear(4, 8), nn.Linear(8, 1)
    with autograd_inspector.inspect() as inspection:
        h = encoder(torch.ones(3, 4)).detach()
        head(h).sum().backward()
    return inspection.report


@pytest.fixture(scope="session")
def deep() -> Report:
    """Twelve equal blocks, trained for two steps."""
    blocks = [nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4)) for _ in range(12)]
    net = nn.Sequential(*blocks)
    optimizer = torch.optim.AdamW(net.parameters())
    with autograd_inspector.inspect() as inspection:
        for _ in range(2):
            optimizer.zero_grad()
            net(torch.ones(3, 4)).sum().backward()
            optimizer.step()
    return inspection.report


@pytest.fixture
def finding() -> Finding:
    return Finding(
        "AG201",
        "saved-tensor-modified",
        "error",
        "`hidden` was modified after sigmoid had saved it.",
        "hidden = hidden + 1.0\nreturn hidden",
        (
            Location("train.py", 8, "forward", source="hidden.add_(1.0)", role="modified here"),
            Location("cell", 3, "forward", "In [4]", "hidden = torch.sigmoid(x)", "saved here"),
        ),
        ("encoder.weight",),
        ("sigmoid saved it at version 0", "add_ moved it to version 1"),
        consequences=("AG301 no-gradient: encoder.weight",),
    )
