"""Gradient cache of two towers: vectors without graphs, a loss of them all, then chunk by chunk once more with a graph."""

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


def cached_step(towers, inputs, temperature, chunk=3):
    with torch.no_grad():
        reps = [
            torch.cat([tower(part) for part in ids.split(chunk)]) for tower, ids in zip(towers, inputs, strict=True)
        ]
    for rep in reps:
        rep.requires_grad_(True)
    scores = reps[0] @ reps[1].T * temperature.exp()
    labels = torch.arange(len(scores))
    loss = (F.cross_entropy(scores, labels) + F.cross_entropy(scores.T, labels)) / 2
    loss.backward()
    for tower, ids, rep in zip(towers, inputs, reps, strict=True):
        for part, g in zip(ids.split(chunk), rep.grad.split(chunk), strict=True):
            torch.dot(tower(part).flatten(), g.flatten()).backward()
    return loss.item()


def run():
    torch.manual_seed(0)
    towers = [Tower(), Tower()]
    temperature = nn.Parameter(torch.tensor(2.0))
    opt = torch.optim.Adam([*towers[0].parameters(), *towers[1].parameters(), temperature], lr=1e-2)
    for _ in range(2):
        opt.zero_grad()
        cached_step(towers, (torch.randint(20, (6, 4)), torch.randint(20, (6, 7))), temperature)
        opt.step()
    return towers


def verify(towers):
    assert all(p.grad is not None for tower in towers for p in tower.parameters())


TRUTH = Truth()
