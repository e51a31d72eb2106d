"""Deep MLP with activation checkpointing: the reentrant kind gives the first segments no gradient, since their input needs none."""

import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

from tests.practice.truth import Truth


class Residual(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.ff(self.norm(x))


class DeepEncoder(nn.Module):
    """Stem and blocks are checkpointed, the head is not."""

    def __init__(self, n_in, dim, depth, n_out, use_checkpoint=True):
        super().__init__()
        self.use_checkpoint = use_checkpoint
        self.stem = nn.Sequential(nn.Linear(n_in, dim), nn.GELU())
        self.blocks = nn.ModuleList(Residual(dim) for _ in range(depth))
        self.head = nn.Linear(dim, n_out)

    def _call(self, module, x):
        if self.use_checkpoint and self.training:
            return checkpoint(module, x, use_reentrant=True)  # cause
        return module(x)

    def forward(self, x):
        x = self._call(self.stem, x)
        for block in self.blocks:
            x = self._call(block, x)
        return self.head(x)


def run():
    torch.manual_seed(3)
    model = DeepEncoder(6, 12, depth=2, n_out=2)
    model.train()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    for step in range(3):
        x = torch.randn(10, 6)
        target = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1)
        loss = nn.functional.smooth_l1_loss(model(x), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return {n.split(".")[0]: not torch.equal(p, start[n]) for n, p in model.named_parameters()}


def verify(moved):
    assert moved["head"]
    assert not moved["stem"] and not moved["blocks"]


TRUTH = Truth(
    fault="checkpoint(use_reentrant=True) on an input that requires no grad returns an output without graph, so stem and blocks get no gradient",
    names=("checkpoint",),
    repair=("return checkpoint(module, x, use_reentrant=False)",),
)
