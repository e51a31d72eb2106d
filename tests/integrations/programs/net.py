"""What the programs train, and the two faults that it may have."""

import torch
from torch import nn


class Net(nn.Module):
    """An encoder, dropout and a head; called with rows it gives the loss.

    ``fault``: "detach" cuts the encoder off; "spoil" edits what the head has saved, in the fifth call: with two batches
    a step that is the first of step 3.
    """

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 8), nn.Sigmoid())
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(8, 1)
        self.fault, self.calls = fault, 0

    def forward(self, x):
        self.calls += 1
        hidden = self.drop(self.encoder(x))
        if self.fault == "detach":
            hidden = hidden.detach()
        loss = self.head(hidden).pow(2).mean()
        if self.fault == "spoil" and self.calls == 5:
            hidden.mul_(0.5)
        return loss


def rows() -> torch.Tensor:
    """The same on every rank; each trains on its own part of them."""
    return torch.randn(64, 4, generator=torch.Generator().manual_seed(9))
