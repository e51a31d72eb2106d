"""Activation checkpointing round compiled blocks."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

from tests.compiled.backend import BACKEND
from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.fc = nn.Linear(d, d)

    def forward(self, x):
        return x + torch.tanh(self.fc(self.norm(x)))


class Stack(nn.Module):
    def __init__(self, d=8, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.head = nn.Linear(d, 2)
        self.reentrant = True  # cause

    def forward(self, x):
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=self.reentrant)  # also
        return self.head(x.mean(1))


def run():
    torch.manual_seed(0)
    model = Stack()
    for b in model.blocks:
        b.compile(backend=BACKEND)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for _ in range(3):
        x = torch.randn(8, 4, 8)
        loss = nn.functional.cross_entropy(model(x), (x.sum((1, 2)) > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    return start, dict(model.named_parameters())


def right(out):
    start, end = out
    still = [n for n in start if torch.equal(start[n], end[n])]
    assert not still, still


TRUTH = Truth(
    fault="reentrant checkpointing of blocks whose input needs no gradient",
    names=("blocks.0.norm.weight", "blocks.0.norm.bias", "blocks.0.fc.weight", "blocks.0.fc.bias"),
    repair=("self.reentrant = False",),
)
