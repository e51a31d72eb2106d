"""Blocks are compiled one by one; the grad mode that freezes the first of them is one too deep for the adapters."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG102"
NAMES = ("adapter", "blocks.1")


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(width), nn.Linear(width, width)
        self.adapter = nn.Linear(width, width)

    def forward(self, x):
        h = F.gelu(self.mlp(self.norm(x)))
        return x + h + self.adapter(h)


class Stack(nn.Module):
    def __init__(self, frozen):
        super().__init__()
        self.frozen = frozen
        self.blocks = nn.ModuleList(Block(6) for _ in range(3))
        self.head = nn.Linear(6, 2)
        for block in self.blocks[:1]:
            block.requires_grad_(False)

    def forward(self, x):
        for number, block in enumerate(self.blocks):
            with torch.set_grad_enabled(number > self.frozen):  # cause
                x = block(x)
        return self.head(x)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = Stack(frozen=1)
    for block in model.blocks:
        block.compile(backend=BACKEND)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])


def run():
    for _ in range(2):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(3, 6)), torch.tensor([0, 1, 1])).backward()
        optimizer.step()
