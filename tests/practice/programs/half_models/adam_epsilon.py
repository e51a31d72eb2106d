"""A model trained in float16 by Adam: eps=1e-8 is zero there, and the weights become NaN."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class SessionEncoder(nn.Module):
    """Next item of a shopping session."""

    def __init__(self, n_items=50, dim=16):
        super().__init__()
        self.item_embedding = nn.Embedding(n_items, dim)
        self.gate = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, sessions):
        x = self.item_embedding(sessions)
        w = torch.sigmoid(self.gate(x))
        return self.out((w * x).mean(1))


class Recommender:
    def __init__(self, n_items, device="cpu", precision="fp16"):
        self.n_items = n_items
        self.model = SessionEncoder(n_items).to(device)
        if precision == "fp16":
            self.model = self.model.half()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)  # cause

    def sampled_loss(self, sessions, positive, negative):
        user = self.model(sessions)
        pos = (user * self.model.item_embedding(positive)).sum(-1)
        neg = (user * self.model.item_embedding(negative)).sum(-1)
        return -F.logsigmoid((pos - neg).float()).mean()

    def fit(self, batches):
        self.model.train()
        for sessions, positive in batches:
            negative = torch.randint(0, 10, positive.shape)
            self.optimizer.zero_grad()
            loss = self.sampled_loss(sessions, positive, negative)
            loss.backward()
            self.optimizer.step()
        return loss.item()


def popular_sessions(steps):
    """The long tail (items from 10 on) does not occur in this shard."""
    return [(torch.randint(0, 10, (8, 5)), torch.randint(0, 10, (8,))) for _ in range(steps)]


def run():
    torch.manual_seed(0)
    recommender = Recommender(50)
    recommender.fit(popular_sessions(2))
    rows = recommender.model.item_embedding.weight.isnan().any(1)
    return int(rows[10:].sum())


def verify(outcome):
    assert outcome == 40, outcome  # not even looked up, and NaN


TRUTH = Truth(
    fault="eps=1e-8 underflows in float16, division by zero: the embedding (and the rest) turns to NaN",
    names=("item_embedding",),
    repair=("self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3, eps=1e-4)",),
)
