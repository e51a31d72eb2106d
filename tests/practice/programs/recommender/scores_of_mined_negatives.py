"""Hard negatives are chosen under no_grad, and the loss uses the scores of the search: they push nothing away."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Towers(nn.Module):
    def __init__(self, users=20, items=30, dim=8):
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.bias = nn.Embedding(items, 1)
        nn.init.zeros_(self.bias.weight)

    def user(self, u):
        return self.user_mlp(self.users(u))

    def score(self, u, i):
        return (self.user(u).unsqueeze(1) * self.items(i)).sum(-1) + self.bias(i).squeeze(-1)


class HardNegatives:
    def __init__(self, model, candidates=10, keep=3):
        self.model, self.candidates, self.keep = model, candidates, keep

    def __call__(self, u):
        pool = torch.randint(0, 30, (len(u), self.candidates))
        with torch.no_grad():
            scores = self.model.score(u, pool)  # also
            best = scores.topk(self.keep, dim=1)
        return pool.gather(1, best.indices), best.values


def run(steps=4):
    torch.manual_seed(0)
    model = Towers()
    mine = HardNegatives(model)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    touched = []
    for _ in range(steps):
        u, positive = torch.randint(0, 20, (6,)), torch.randint(0, 15, (6, 1))
        negative, negative_scores = mine(u)  # cause
        loss = F.softplus(negative_scores - model.score(u, positive)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pushed = model.items.weight.grad[negative[~torch.isin(negative, positive)]]
        touched.append(pushed.abs().sum().item())
    return touched


def verify(touched):
    assert sum(touched) == 0


TRUTH = Truth(
    fault="the negatives' scores have no graph",
    names=("no_grad",),
    minor=True,
    repair=("negative, _ = mine(u); negative_scores = model.score(u, negative)",),
)
