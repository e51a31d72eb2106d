"""Metric-learning recommender: after each epoch the items' table is put on the sphere, as a new Parameter."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class CollaborativeMetric(nn.Module):
    def __init__(self, users=30, items=40, dim=8):
        super().__init__()
        self.users = nn.Embedding(users, dim)
        self.items = nn.Embedding(items, dim)

    def distance(self, u, i):
        return (self.users(u) - self.items(i)).pow(2).sum(-1)

    def project(self):
        self.users.weight.data = F.normalize(self.users.weight.data, dim=1)
        self.items.weight = nn.Parameter(F.normalize(self.items.weight.detach(), dim=1))  # cause


def run():
    torch.manual_seed(0)
    model = CollaborativeMetric()
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for epoch in range(3):
        for _ in range(3):
            u, pos, neg = torch.randint(30, (32,)), torch.randint(40, (32,)), torch.randint(40, (32,))
            opt.zero_grad()
            loss = F.relu(model.distance(u, pos) - model.distance(u, neg) + 0.5).mean()
            loss.backward()
            opt.step()
        if epoch == 0:
            model.project()
            kept = model.items.weight.detach().clone()
    return kept, model.items.weight


def verify(out):
    assert torch.equal(*out)


TRUTH = Truth(
    fault="the optimizer holds the table of before",
    names=("items.weight",),
    repair=("self.items.weight.data = F.normalize(self.items.weight.data, dim=1)",),
)
