"""AG102: what the function of a reentrant checkpoint leaves in an attribute."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from .programs import diagnosed
from .twins import calm


class Gated(nn.Module):
    """A block whose gate learns by a loss of its own, which the forward leaves as an attribute, or returns."""

    def __init__(self, *, returns):
        super().__init__()
        self.layer, self.gate, self.returns = nn.Linear(4, 4), nn.Linear(4, 3), returns
        self.balance = None

    def forward(self, x):
        gates = self.gate(x).softmax(-1)
        h = self.layer(x) + gates.detach().sum()
        balance = gates.mean(0).pow(2).sum()
        if self.returns:
            return h, balance
        self.balance = balance
        return h, h.new_zeros(())


def trained(*, reentrant=True, returns=False, looked_at=False):
    block = Gated(returns=returns)
    optimizer = torch.optim.SGD((block if not looked_at else block.layer).parameters(), lr=0.1)
    for _ in range(2):
        x = torch.randn(5, 4, requires_grad=True)
        h, balance = checkpoint(block, x, use_reentrant=reentrant)  # Checkpointed.
        if looked_at:
            print(block.balance.item())
        elif not returns:
            balance = block.balance
        optimizer.zero_grad()
        (h.pow(2).mean() + balance).backward()
        optimizer.step()


def test_a_loss_that_is_left_as_an_attribute():
    """The checkpoint's result has a graph, what else the function computed has none."""
    finding = diagnosed(trained, "AG102", "# Checkpointed.", "use_reentrant=True", "gate", severity="warning")
    assert {name.rpartition(".")[2] for name in finding.subjects} == {"weight", "bias"}


def test_a_loss_that_is_returned_or_recorded():
    """Returned, from a checkpoint that is not reentrant, or only looked at."""
    calm(lambda: trained(returns=True), lambda: trained(reentrant=False), lambda: trained(looked_at=True))
