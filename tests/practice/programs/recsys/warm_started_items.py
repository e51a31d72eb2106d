"""Two-tower recommender with item vectors from word2vec: from_pretrained freezes unless told otherwise."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ItemTower(nn.Module):
    """Item embeddings start from the co-occurrence vectors and are fine-tuned with the rest."""

    def __init__(self, vectors, n_categories, dim):
        super().__init__()
        self.item = nn.Embedding.from_pretrained(vectors, padding_idx=0)  # cause
        self.category = nn.Embedding(n_categories, 4)
        self.project = nn.Linear(vectors.size(1) + 4, dim)

    def forward(self, items, categories):
        return self.project(torch.cat([self.item(items), self.category(categories)], -1))


class UserTower(nn.Module):
    def __init__(self, n_users, item_tower, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.history = nn.Linear(item_tower.item.embedding_dim, dim)
        self.item_table = item_tower.item

    def forward(self, users, clicked):
        mask = (clicked != 0).float().unsqueeze(-1)
        pooled = (self.item_table(clicked) * mask).sum(1) / mask.sum(1).clamp(min=1)
        return self.user(users) + self.history(pooled)


class TwoTower(nn.Module):
    def __init__(self, vectors, n_users=20, n_categories=4, dim=8):
        super().__init__()
        self.items = ItemTower(vectors, n_categories, dim)
        self.users = UserTower(n_users, self.items, dim)
        self.log_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, users, clicked, items, categories):
        u = F.normalize(self.users(users, clicked), dim=-1)
        v = F.normalize(self.items(items, categories), dim=-1)
        return self.log_scale.exp() * u @ v.t()


def cooccurrence_vectors(n_items=40, dim=12):
    vectors = torch.randn(n_items, dim) * 0.1
    vectors[0] = 0
    return vectors


def batch(n=16):
    clicked = torch.randint(1, 40, (n, 5)) * (torch.rand(n, 5) < 0.8)
    return torch.randint(0, 20, (n,)), clicked, torch.randperm(39)[:n] + 1, torch.randint(0, 4, (n,))


def run():
    torch.manual_seed(0)
    model = TwoTower(cooccurrence_vectors())
    optimizer = torch.optim.Adam(
        [
            {"params": model.items.parameters(), "lr": 1e-3},
            {
                "params": [*model.users.user.parameters(), *model.users.history.parameters(), model.log_scale],
                "lr": 3e-3,
            },
        ]
    )
    before = model.items.item.weight.detach().clone()
    for _ in range(4):
        logits = model(*batch())
        loss = F.cross_entropy(logits, torch.arange(len(logits)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, model.items.item.weight


def verify(outcome):
    before, weight = outcome
    assert weight.grad is None and torch.equal(before, weight)


TRUTH = Truth(
    fault="Embedding.from_pretrained has freeze=True by default: the item table is never fine-tuned",
    names=("item.weight", "item", "from_pretrained"),
    repair=("self.item = nn.Embedding.from_pretrained(vectors, padding_idx=0, freeze=False)",),
)
