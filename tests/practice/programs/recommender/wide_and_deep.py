"""Wide and deep: sparse tables under SparseAdam, the rest under AdamW; the tables keep moving rows nobody asked for."""

import torch
from torch import nn

from tests.practice.truth import Truth


class WideAndDeep(nn.Module):
    def __init__(self, users=50, items=40, dim=6):
        super().__init__()
        self.user_table = nn.Embedding(users, dim, sparse=True)
        self.item_table = nn.Embedding(items, dim, sparse=True)
        self.wide = nn.Linear(4, 1)
        self.deep = nn.Sequential(nn.Linear(2 * dim, 16), nn.ReLU(), nn.Linear(16, 1))

    def tables(self):
        return [*self.user_table.parameters(), *self.item_table.parameters()]

    def dense(self):
        return [*self.wide.parameters(), *self.deep.parameters()]

    def forward(self, user, item, context):
        both = torch.cat([self.user_table(user), self.item_table(item)], -1)
        return (self.deep(both) + self.wide(context)).squeeze(-1)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.sparse_opt = torch.optim.SparseAdam(model.tables(), lr=1e-2)
        self.dense_opt = torch.optim.AdamW(model.dense(), lr=1e-3)

    def step(self, user, item, context, click):
        self.dense_opt.zero_grad()  # cause
        loss = nn.functional.binary_cross_entropy_with_logits(self.model(user, item, context), click)
        loss.backward()
        self.sparse_opt.step()  # symptom
        self.dense_opt.step()
        return loss.item()


def impressions(n=8, users=50, items=40):
    return torch.randint(users, (n,)), torch.randint(items, (n,)), torch.randn(n, 4), torch.randint(2, (n,)).float()


def run(steps=4):
    torch.manual_seed(0)
    model = WideAndDeep()
    trainer = Trainer(model)
    touched = []
    for step in range(steps):
        batch = impressions()
        loss = trainer.step(*batch)
        rows = model.user_table.weight.grad.coalesce().indices().numel()
        touched.append((rows, batch[0].unique().numel()))
        print(f"step {step} bce {loss:.4f}")
    return touched


def verify(touched):
    rows, seen = touched[-1]
    assert rows > 2 * seen


TRUTH = Truth(
    fault="only one of two optimizers clears its gradients: those of the tables add up from step to step",
    names=("user_table", "zero_grad"),
    repair=("self.model.zero_grad()",),
)
