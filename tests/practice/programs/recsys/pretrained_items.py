"""Recommendation: item vectors of last month are loaded with Embedding.from_pretrained, which freezes them by default."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

USERS, ITEMS, DIM = 12, 20, 8


class TwoTower(nn.Module):
    """User and item towers with a dot product."""

    def __init__(self, item_vectors):
        super().__init__()
        self.user = nn.Embedding(USERS, DIM)
        self.item = nn.Embedding.from_pretrained(item_vectors)  # cause
        self.user_mlp = nn.Sequential(nn.Linear(DIM, 16), nn.ReLU(), nn.Linear(16, DIM))
        self.item_mlp = nn.Sequential(nn.Linear(DIM, 16), nn.ReLU(), nn.Linear(16, DIM))
        self.temperature = nn.Parameter(torch.tensor(1.0))

    def towers(self, u, i):
        return F.normalize(self.user_mlp(self.user(u)), dim=-1), F.normalize(self.item_mlp(self.item(i)), dim=-1)

    def forward(self, u, i):
        left, right = self.towers(u, i)
        return left @ right.t() * self.temperature.exp()


def last_month():
    """Vectors of a factorisation; items that are new since then have none and start at zero."""
    torch.manual_seed(11)
    vectors = torch.randn(ITEMS, DIM)
    vectors[-4:] = 0
    return vectors


def clicks(n=10):
    return torch.randint(0, USERS, (n,)), torch.randperm(ITEMS)[:n]


def in_batch_softmax(model, u, i):
    scores = model(u, i)
    target = torch.arange(len(u))
    return 0.5 * (F.cross_entropy(scores, target) + F.cross_entropy(scores.t(), target))


def make_optimizer(model):
    embeddings = [m.weight for m in model.modules() if isinstance(m, nn.Embedding)]
    ids = {id(p) for p in embeddings}
    dense = [p for p in model.parameters() if id(p) not in ids]
    return torch.optim.Adam([{"params": embeddings, "lr": 5e-2}, {"params": dense, "lr": 5e-3}])


def run():
    torch.manual_seed(0)
    vectors = last_month()
    model = TwoTower(vectors.clone())
    optimizer = make_optimizer(model)
    for _ in range(4):
        loss = in_batch_softmax(model, *clicks())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return vectors, model.item.weight.detach(), model.user.weight.grad is not None


def verify(outcome):
    start, end, user_learns = outcome
    assert user_learns
    assert torch.equal(start, end)  # the new items stay at zero


TRUTH = Truth(
    fault="from_pretrained has freeze=True: the item vectors are in the optimizer and never get a gradient",
    names=("item",),
    repair=("self.item = nn.Embedding.from_pretrained(item_vectors, freeze=False)",),
)
