"""Keras functional API to PyTorch: `x = Dense(16)(x)` became a layer that is made anew at every call."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def dense(units, activation=None):
    def apply(x):
        layer = nn.Linear(x.shape[-1], units)  # also
        y = layer(x)
        return activation(y) if activation else y

    return apply


class Recommender(nn.Module):
    def __init__(self, users=20, items=30, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.tower = dense(16, F.relu)  # cause
        self.score = nn.Linear(16, 1)

    def forward(self, users, items):
        x = torch.cat([self.user(users), self.item(items)], dim=-1)
        return self.score(self.tower(x)).squeeze(-1)


def make_batch(size=16):
    users = torch.randint(0, 20, (size,))
    items = torch.randint(0, 30, (size,))
    return users, items, ((users + items) % 2).float()


def run():
    torch.manual_seed(0)
    model = Recommender()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        users, items, clicks = make_batch()
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(model(users, items), clicks)
        loss.backward()
        optimizer.step()
    model.eval()
    users, items, _ = make_batch()
    with torch.no_grad():
        return model(users, items), model(users, items)


def verify(outcome):
    first, second = outcome
    assert not torch.equal(first, second)


TRUTH = Truth(
    fault="the tower's Linear is made anew with random weights at every call and never trained",
    names=("Linear",),
    repair=("self.tower = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU())",),
)
