"""AG406: an embedding with max_norm rewrites its rows in the forward, whether it is frozen or not."""

from __future__ import annotations

import torch
from torch import nn

from .programs import inspected, line_of, trained

IDS = torch.tensor([[0, 1], [2, 3]])
VECTORS = 3 * torch.ones(4, 8)


def looked_up(**options):
    table, head = nn.Embedding.from_pretrained(VECTORS.clone(), **options), nn.Linear(8, 1)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, head(table(IDS).sum(1)).pow(2).mean())


def found(**options):
    return [f for f in inspected(lambda: looked_up(**options)).findings if f.rule == "AG406"]


def test_a_frozen_table_that_the_forward_rewrites():
    """`freeze` keeps the optimizer out, and not the forward: the line that makes the table is named once."""
    (finding,) = found(freeze=True, max_norm=1.0)
    assert finding.severity == "info"
    assert "max_norm" in finding.message
    assert finding.locations[0].lineno == line_of(looked_up, "from_pretrained")


def test_a_table_that_nothing_rewrites():
    """Without max_norm it stays what it is, and one that learns is meant to change."""
    assert not found(freeze=True)
    assert not found(freeze=False, max_norm=1.0)
