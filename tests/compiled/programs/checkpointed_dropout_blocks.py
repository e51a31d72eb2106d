"""Residual blocks with dropout, each compiled for itself and recomputed by an activation checkpoint: healthy."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        h = self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
        return x + torch.nn.functional.dropout(h, 0.5, self.training) * self.scale


class Deep(nn.Module):
    def __init__(self, width=6, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        for block in self.blocks:
            block.compile(backend=BACKEND)
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        first = x
        for i, block in enumerate(self.blocks):
            x = checkpoint(block, x, use_reentrant=False)
            if i == 0:
                first = x
        return self.head(x), first


def run():
    torch.manual_seed(0)
    model = Deep()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    fits = []
    for _ in range(3):
        x = torch.randn(1, 6)
        logits, first = model(x)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, torch.randint(2, (1,))).backward()
        dropped = (first == x).squeeze(0)
        fits.append((dropped, model.blocks[0].scale.grad == 0))
        optimizer.step()
    return fits


def verify(outcome):
    # the recomputed mask is the mask of the forward pass
    assert all(torch.equal(dropped, silent) for dropped, silent in outcome)
    assert any(dropped.any() for dropped, _ in outcome)


TRUTH = Truth()
