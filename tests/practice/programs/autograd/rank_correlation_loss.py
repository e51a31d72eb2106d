"""Ranking loss by argsort: the ranks have no gradient, only the small regression term trains the scorer."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Scorer(nn.Module):
    def __init__(self, dim=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(dim, 12), nn.Softplus())
        self.score = nn.Linear(12, 1)
        self.scale = nn.Linear(12, 1)

    def forward(self, x):
        h = self.body(x)
        return self.score(h).squeeze(-1), self.scale(h).squeeze(-1)


def soft_rank(scores, temperature=0.5):
    """Expected rank: how many others are below."""
    pairs = scores[:, None] - scores[None, :]
    return torch.sigmoid(pairs / temperature).sum(1)


def rank(scores):
    return scores.argsort().argsort().to(scores.dtype)


def spearman(a, b):
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / (a.norm() * b.norm() + 1e-8)


class RankingLoss(nn.Module):
    def __init__(self, weight=10.0):
        super().__init__()
        self.weight = weight

    def forward(self, scores, scale, relevance):
        ranking = 1 - spearman(rank(scores), rank(relevance))  # cause
        return self.weight * ranking + F.mse_loss(scale, relevance)


def queries(n):
    for _ in range(n):
        x = torch.randn(14, 5)
        yield x, x[:, 0] + 0.5 * x[:, 1].relu()


def run():
    torch.manual_seed(0)
    model, criterion = Scorer(), RankingLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    for x, relevance in queries(3):
        scores, scale = model(x)
        optimizer.zero_grad()
        criterion(scores, scale, relevance).backward()
        optimizer.step()
    return {n: torch.equal(p, before[n]) for n, p in model.named_parameters()}


def verify(outcome):
    assert outcome["score.weight"] and outcome["score.bias"]
    assert not outcome["scale.weight"]


TRUTH = Truth(
    fault="argsort is not differentiable: the ranking term is a constant and the score head gets no gradient",
    names=("score",),
    repair=("ranking = 1 - spearman(soft_rank(scores), rank(relevance))",),
)
