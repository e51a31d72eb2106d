"""Gradient cache: the stored query vectors ask for a gradient, the stored document vectors do not."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Tower(nn.Module):
    def __init__(self, vocab=20, dim=12):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.proj = nn.Linear(dim, 8)

    def forward(self, ids):
        return F.normalize(self.proj(self.embed(ids)), dim=-1)


class GradCache:
    def __init__(self, query, doc, chunk):
        self.towers = {"query": query, "doc": doc}
        self.chunk = chunk

    @torch.no_grad()
    def encode(self, name, ids):
        return torch.cat([self.towers[name](part) for part in ids.split(self.chunk)])

    def replay(self, name, ids, grads):
        for part, g in zip(ids.split(self.chunk), grads.split(self.chunk), strict=True):
            (self.towers[name](part) * g).sum().backward()

    def step(self, queries, docs):
        q = self.encode("query", queries).requires_grad_()
        d = self.encode("doc", docs)  # cause
        loss = F.cross_entropy(q @ d.T / 0.05, torch.arange(len(q)))
        loss.backward()
        for name, ids, reps in (("query", queries, q), ("doc", docs, d)):
            if reps.grad is not None:
                self.replay(name, ids, reps.grad)
        return loss.item()


def run():
    torch.manual_seed(0)
    query, doc = Tower(), Tower()
    opt = torch.optim.Adam([*query.parameters(), *doc.parameters()], lr=1e-2)
    cache = GradCache(query, doc, chunk=3)
    for _ in range(2):
        opt.zero_grad()
        cache.step(torch.randint(20, (6, 4)), torch.randint(20, (6, 7)))
        opt.step()
    return query, doc


def verify(out):
    query, doc = out
    assert query.proj.weight.grad is not None and doc.proj.weight.grad is None


TRUTH = Truth(
    fault="the document tower gets no gradient",
    names=("doc",),
    repair=('d = self.encode("doc", docs).requires_grad_()',),
)
