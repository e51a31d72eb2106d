"""Hard negatives are chosen under no_grad and scored again with a graph; item biases are corrected by popularity."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Towers(nn.Module):
    def __init__(self, users=20, items=30, dim=8):
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim, sparse=True), nn.Embedding(items, dim, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, dim))
        self.register_buffer("log_popularity", torch.full((items,), -3.0))

    def score(self, u, i):
        return (self.mlp(self.users(u)).unsqueeze(1) * self.items(i)).sum(-1)

    @torch.no_grad()
    def mine(self, u, positive, candidates=12, keep=3):
        pool = torch.randint(0, 30, (len(u), candidates))
        scores = self.score(u, pool) - self.log_popularity[pool]
        scores = scores.masked_fill(pool == positive, float("-inf"))
        return pool.gather(1, scores.topk(keep, 1).indices)

    @torch.no_grad()
    def seen(self, items, rate=0.1):
        counts = torch.bincount(items.flatten(), minlength=30).float() / items.numel()
        self.log_popularity.copy_(((1 - rate) * self.log_popularity.exp() + rate * counts + 1e-6).log())


def run(steps=4):
    torch.manual_seed(0)
    model = Towers()
    sparse = torch.optim.SparseAdam([*model.users.parameters(), *model.items.parameters()], lr=1e-2)
    dense = torch.optim.Adam(model.mlp.parameters(), lr=1e-3)
    touched = []
    for _ in range(steps):
        u, positive = torch.randint(0, 20, (6,)), torch.randint(0, 15, (6, 1))
        model.seen(positive)
        negative = model.mine(u, positive)
        logits = model.score(u, torch.cat([positive, negative], 1))
        logits = logits - model.log_popularity[torch.cat([positive, negative], 1)]
        loss = F.cross_entropy(logits, torch.zeros(6, dtype=torch.long))
        for optimizer in (sparse, dense):
            optimizer.zero_grad()
        loss.backward()
        for optimizer in (sparse, dense):
            optimizer.step()
        touched.append(model.items.weight.grad.coalesce().values().abs().sum().item())
    return touched


TRUTH = Truth()


def verify(touched):
    assert min(touched) > 0
