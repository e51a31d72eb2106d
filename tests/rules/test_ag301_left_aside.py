"""AG301: a loss that is computed, and that the sum leaves out."""

from __future__ import annotations

import torch
from torch import nn

from .programs import diagnosed, line_of
from .twins import calm


def summed(*, called=("loss_a", "loss_b")):
    trunk, a, b = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*trunk.parameters(), *a.parameters(), *b.parameters()], 0.1)
    for _ in range(2):
        x = trunk(torch.randn(4, 3)).relu()
        first, second = a(x), b(x)
        losses = {
            called[0]: first.pow(2).mean(),
            called[1]: second.abs().mean(),
        }
        optimizer.zero_grad()
        sum(value for name, value in losses.items() if "loss" in name).backward()
        optimizer.step()


def test_a_term_that_a_filter_leaves_out():
    """The line that computes it is told beside the one that uses the parameters."""
    found = diagnosed(
        lambda: summed(called=("loss_a", "b")), "AG301", "b(x)", "b.weight", severity="warning", where=summed
    )
    assert any(
        "left out" in place.role and place.lineno == line_of(summed, "second.abs()") for place in found.locations
    )
    calm(summed)
