"""Layers take turns at being trained: the others are frozen, their gradients and the state of the optimizer let go."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.blocks = nn.ModuleList(nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(4))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


def choose(model, opt, active):
    for i, block in enumerate(model.blocks):
        for p in block.parameters():
            p.requires_grad_(i in active)
            if i not in active:
                p.grad = None
                opt.state.pop(p, None)


def run():
    torch.manual_seed(0)
    model = LM()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    unmoved = []
    for period in range(4):
        choose(model, opt, {period})
        still = [b[1].weight.detach().clone() for i, b in enumerate(model.blocks) if i != period]
        for _ in range(2):
            ids = torch.randint(13, (4, 7))
            loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
            opt.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        now = [b[1].weight for i, b in enumerate(model.blocks) if i != period]
        unmoved.append(norm.isfinite().item() and all(torch.equal(a, b) for a, b in zip(still, now, strict=True)))
    return unmoved


def verify(unmoved):
    assert all(unmoved)


TRUTH = Truth()
