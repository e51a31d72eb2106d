"""Two-tower retrieval: the learned temperature starts beyond its clamp and never gets a gradient."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Tower(nn.Module):
    def __init__(self, cardinalities, dim=8, out=8):
        super().__init__()
        self.tables = nn.ModuleList([nn.Embedding(n, dim) for n in cardinalities])
        self.mlp = nn.Sequential(nn.Linear(dim * len(cardinalities), 16), nn.ReLU(), nn.Linear(16, out))

    def forward(self, features):
        x = torch.cat([table(f) for table, f in zip(self.tables, features.unbind(1))], dim=1)
        return F.normalize(self.mlp(x), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.user_tower = Tower([30, 5])
        self.item_tower = Tower([40, 6, 4])
        self.logit_scale = nn.Parameter(torch.tensor(1 / temperature))  # cause

    def forward(self, users, items):
        # no more than a factor of 100, as CLIP
        scale = self.logit_scale.clamp(max=math.log(100.0)).exp()
        return scale * self.user_tower(users) @ self.item_tower(items).t()


def sampled_softmax(logits, item_ids, log_q):
    """In-batch negatives with the logQ correction; the same item twice is no negative."""
    logits = logits - log_q[item_ids]
    same = item_ids[:, None].eq(item_ids[None]) & ~torch.eye(len(item_ids), dtype=torch.bool)
    return F.cross_entropy(logits.masked_fill(same, -1e4), torch.arange(len(item_ids)))


class RetrievalTask:
    def __init__(self, model, lr=1e-2):
        self.model = model
        decay = [p for p in model.parameters() if p.ndim > 1]
        plain = [p for p in model.parameters() if p.ndim <= 1]
        self.optimizer = torch.optim.AdamW(
            [{"params": decay, "weight_decay": 1e-4}, {"params": plain, "weight_decay": 0.0}], lr=lr
        )
        self.log_q = torch.log(torch.full((40,), 1 / 40))

    def train_step(self, users, items):
        self.optimizer.zero_grad()
        loss = sampled_softmax(self.model(users, items), items[:, 0], self.log_q)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def interactions(n=16):
    users = torch.stack((torch.randint(0, 30, (n,)), torch.randint(0, 5, (n,))), 1)
    items = torch.stack([torch.randint(0, c, (n,)) for c in (40, 6, 4)], 1)
    return users, items


def run():
    torch.manual_seed(0)
    model = TwoTower()
    task = RetrievalTask(model)
    before = model.logit_scale.item()
    for _ in range(4):
        task.train_step(*interactions())
    return before, model.logit_scale.item()


def verify(outcome):
    before, after = outcome
    assert before == after, outcome


TRUTH = Truth(
    fault="logit_scale starts at 1/T in place of log(1/T), beyond the clamp, whose gradient is zero there",
    names=("logit_scale",),
    values=True,
    repair=("self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / temperature)))",),
)
