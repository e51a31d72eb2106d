"""Layers are frozen after a warm-up, but gradients are cleared to zeros: momentum and decay go on moving them."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(3))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


def freeze_below(model, depth):
    for block in model.blocks[:depth]:
        for p in block.parameters():
            p.requires_grad = False  # also


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    frozen_at = None
    for epoch in range(2):
        if epoch == 1:
            freeze_below(model, 2)
            frozen_at = model.blocks[0][1].weight.detach().clone()
        for _ in range(2):
            ids = torch.randint(13, (4, 7))
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            opt.zero_grad(set_to_none=False)  # cause
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
    return model.blocks[0][1].weight.detach(), frozen_at


def verify(out):
    assert not torch.equal(*out)


TRUTH = Truth(
    fault="frozen weights have gradients of zeros, so the optimizer moves them by momentum and decay",
    names=("blocks.0",),
    repair=("opt.zero_grad()",),
)
