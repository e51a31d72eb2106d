"""Warm-up by hand: the new rate is written to optimizer.defaults, the groups keep the zero they were made with; no weight moves."""

import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


@dataclass
class Schedule:
    peak: float = 5e-3
    warmup: int = 2
    total: int = 6

    def __call__(self, step):
        if step < self.warmup:
            return self.peak * (step + 1) / self.warmup
        done = (step - self.warmup) / max(1, self.total - self.warmup)
        return 0.5 * self.peak * (1 + math.cos(math.pi * done))


class WarmupOptimizer:
    """Wraps an optimizer that starts from rest."""

    def __init__(self, params, schedule):
        self.inner = torch.optim.AdamW(params, lr=0.0, betas=(0.9, 0.95))
        self.schedule = schedule
        self.steps = 0

    def step(self):
        self.inner.defaults["lr"] = self.schedule(self.steps)  # cause
        self.inner.step()
        self.inner.zero_grad()
        self.steps += 1


class ChordTransformer(nn.Module):
    def __init__(self, chords=14, dim=16):
        super().__init__()
        self.embed = nn.Embedding(chords, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.out = nn.Linear(dim, chords)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        return self.out(self.layer(self.embed(ids), src_mask=mask, is_causal=True))


def songs(n, bars=8):
    loop = torch.tensor([0, 7, 9, 5])
    return (loop.repeat(bars // 4 + 1)[: bars + 1] + torch.randint(14, (n, 1))) % 14


def run():
    torch.manual_seed(0)
    model = ChordTransformer()
    optimizer = WarmupOptimizer(model.parameters(), Schedule())
    start = [p.detach().clone() for p in model.parameters()]
    losses = []
    for _ in range(4):
        ids = songs(12)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return start, [p.detach() for p in model.parameters()], losses


def verify(outcome):
    start, now, _ = outcome
    assert all(torch.equal(a, b) for a, b in zip(start, now))


TRUTH = Truth(
    fault="defaults are read when a group is added only; param_groups keep lr = 0",
    names=("lr",),
    repair=('self.inner.param_groups[0]["lr"] = self.schedule(self.steps)',),
)
