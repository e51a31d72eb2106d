"""Two towers with in-batch negatives, corrected for popularity, sparse and dense optimizers: nothing is wrong."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class FrequencyEstimator(nn.Module):
    """How many steps lie between two occurrences of an item (a streaming estimate)."""

    def __init__(self, items, alpha=0.1):
        super().__init__()
        self.alpha = alpha
        self.register_buffer("last", torch.zeros(items))
        self.register_buffer("gap", torch.full((items,), 10.0))

    @torch.no_grad()
    def update(self, item, step):
        item = item.unique()
        self.gap[item] = (1 - self.alpha) * self.gap[item] + self.alpha * (step - self.last[item])
        self.last[item] = float(step)

    def log_q(self, item):
        return -self.gap[item].clamp(min=1.0).log()


class Tower(nn.Module):
    def __init__(self, ids, dim=8):
        super().__init__()
        self.table = nn.Embedding(ids, dim, padding_idx=0, sparse=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, dim))

    def forward(self, ids):
        return F.normalize(self.mlp(self.table(ids)), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, users=40, items=30):
        super().__init__()
        self.user, self.item = Tower(users), Tower(items)
        self.frequency = FrequencyEstimator(items)

    def forward(self, user, item, temperature=0.1):
        logits = self.user(user) @ self.item(item).T / temperature - self.frequency.log_q(item)
        same = (item[:, None] == item[None, :]).fill_diagonal_(False)
        logits[same] = float("-inf")  # accidental hits
        return F.cross_entropy(logits, torch.arange(len(user)))


@torch.no_grad()
def recall(model, user, item, k=10):
    corpus = model.item(torch.arange(1, 30))
    top = (model.user(user) @ corpus.T).topk(k).indices + 1
    return (top == item[:, None]).any(1).float().mean().item()


def run(steps=8):
    torch.manual_seed(0)
    model = TwoTower()
    tables = [model.user.table.weight, model.item.table.weight]
    dense = [p for n, p in model.named_parameters() if "table" not in n]
    optimizers = [torch.optim.SparseAdam(tables, lr=1e-2), torch.optim.AdamW(dense, lr=1e-2)]
    losses = []
    for step in range(1, steps + 1):
        user = torch.randint(1, 40, (16,))
        item = user % 29 + 1
        model.frequency.update(item, step)
        loss = model(user, item)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        losses.append(loss.item())
        print(f"step {step} softmax {losses[-1]:.4f} recall@10 {recall(model, user, item):.2f}")
    return model, losses


def verify(out):
    model, losses = out
    assert losses[-1] < losses[0] and model.item.table.weight[0].abs().sum() == 0


TRUTH = Truth()
