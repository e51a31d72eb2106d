"""Averaged weights are swapped in for the evaluation and back out again, by clones."""

from contextlib import contextmanager

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class LM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.wte = nn.Embedding(vocab, dim)
        self.mlp = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 16), nn.GELU(), nn.Linear(16, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        h = self.wte(ids)
        return self.head(h + self.mlp(h))


class EMA:
    def __init__(self, model, decay):
        self.decay, self.shadow = decay, {n: p.detach().clone() for n, p in model.named_parameters()}

    def update(self, model):
        with torch.no_grad():
            for n, p in model.named_parameters():
                self.shadow[n].mul_(self.decay).add_(p, alpha=1 - self.decay)

    @contextmanager
    def applied(self, model):
        backup = {n: p.detach().clone() for n, p in model.named_parameters()}
        model.load_state_dict(self.shadow)
        try:
            yield
        finally:
            model.load_state_dict(backup)


def run():
    torch.manual_seed(0)
    model = LM()
    ema = EMA(model, 0.9)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    kept = []
    for _ in range(3):
        ids = torch.randint(12, (3, 7))
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
        before = model.head.weight.detach().clone()
        with ema.applied(model), torch.no_grad():
            model(ids)
        kept.append(torch.equal(before, model.head.weight))
    return kept


def verify(kept):
    assert all(kept)


TRUTH = Truth()
