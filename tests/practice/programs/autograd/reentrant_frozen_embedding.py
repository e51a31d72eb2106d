"""Reentrant checkpoints on top of frozen embeddings: no input requires grad, so the blocks are cut off."""

import warnings

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, h):
        return h + self.down(F.gelu(self.up(self.norm(h))))


class Encoder(nn.Module):
    def __init__(self, vocab=14, dim=6, depth=2, checkpointing=True):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, 3)
        self.checkpointing = checkpointing

    def run_block(self, block, h):
        if self.checkpointing and self.training:
            return checkpoint(block, h, use_reentrant=True)  # cause
        return block(h)

    def forward(self, ids):
        h = self.embed(ids)
        for block in self.blocks:
            h = self.run_block(block, h)
        return self.head(h.mean(1))


def batches(n):
    for _ in range(n):
        ids = torch.randint(0, 14, (8, 5))
        yield ids, ids[:, 0] % 3


def run():
    torch.manual_seed(0)
    model = Encoder()
    model.embed.requires_grad_(False)
    optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ids, y in batches(3):
            optimizer.zero_grad()
            F.cross_entropy(model(ids), y).backward()
            optimizer.step()
    return {n: p.grad is not None for n, p in model.named_parameters()}


def verify(outcome):
    assert not any(has for name, has in outcome.items() if name.startswith("blocks"))
    assert outcome["head.weight"]


TRUTH = Truth(
    fault="a reentrant checkpoint whose inputs need no gradient returns an output without a graph",
    names=("checkpoint",),
    repair=("return checkpoint(block, h, use_reentrant=False)",),
)
