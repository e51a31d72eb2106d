"""Optimizer in backward: each parameter is stepped and its gradient freed as soon as it is accumulated."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class TinyLM(nn.Module):
    def __init__(self, vocab=12, dim=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.block = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.norm = nn.LayerNorm(dim)

    def forward(self, ids):
        h = self.embed(ids)
        h = self.norm(h + self.block(h))
        return h @ self.embed.weight.T


class FusedTraining:
    """One optimizer per parameter; there is no moment at which all gradients exist."""

    def __init__(self, model, lr, max_norm):
        self.max_norm = max_norm
        self.optimizers = {p: torch.optim.Adam([p], lr=lr) for p in model.parameters()}
        self.schedulers = [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in self.optimizers.values()]
        self.handles = [p.register_post_accumulate_grad_hook(self.apply) for p in model.parameters()]
        self.norms = []

    def apply(self, p):
        norm = nn.utils.clip_grad_norm_([p], self.max_norm)
        self.norms.append(norm.item())
        self.optimizers[p].step()
        self.optimizers[p].zero_grad()

    def step_end(self):
        for scheduler in self.schedulers:
            scheduler.step()


def plain(steps, seed):
    """The same training as everybody writes it."""
    torch.manual_seed(seed)
    model = TinyLM()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    for _ in range(steps):
        ids = torch.randint(0, 12, (4, 7))
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        for p in model.parameters():
            nn.utils.clip_grad_norm_([p], 0.5)
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
    return model


def run():
    torch.manual_seed(0)
    model = TinyLM()
    fused = FusedTraining(model, lr=1e-2, max_norm=0.5)
    for _ in range(3):
        ids = torch.randint(0, 12, (4, 7))
        F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
        fused.step_end()
    other = plain(3, 0)
    gap = max((a - b).abs().max().item() for a, b in zip(model.parameters(), other.parameters()))
    return gap, len(fused.norms), [p.grad is None for p in model.parameters()]


def verify(outcome):
    gap, calls, cleared = outcome
    assert gap < 1e-5
    assert calls == 3 * len(cleared) and all(cleared)


TRUTH = Truth()
