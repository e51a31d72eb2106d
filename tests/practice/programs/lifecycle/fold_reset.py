"""Cross-validation: reset_parameters() is called on all layers, a bare Parameter and its learning leak into the next fold."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class AttentionPool(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.zeros(dim))
        self.temperature = nn.Parameter(torch.ones(()))

    def forward(self, h):
        weights = (h @ self.query * self.temperature).softmax(1)
        return (weights[..., None] * h).sum(1)


class BagModel(nn.Module):
    def __init__(self, dim=5, width=10):
        super().__init__()
        self.instance = nn.Linear(dim, width)
        self.norm = nn.LayerNorm(width)
        self.pool = AttentionPool(width)
        self.out = nn.Linear(width, 1)

    def forward(self, bags):
        return self.out(self.pool(self.norm(F.relu(self.instance(bags))))).flatten()


def reset(module):
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()


def folds(n, k):
    order = torch.randperm(n)
    for i in range(k):
        held = torch.zeros(n, dtype=torch.bool)
        held[order[i::k]] = True
        yield ~held, held


def fit(model, x, y, steps=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
    for _ in range(steps):
        optimizer.zero_grad()
        F.binary_cross_entropy_with_logits(model(x), y).backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    x = torch.randn(30, 4, 5)
    y = (x[..., 0].amax(1) > 1).float()
    model = BagModel()
    starts, scores = [], []
    for train, held in folds(30, 3):
        model.apply(reset)  # cause
        starts.append((model.pool.query.abs().max().item(), model.pool.temperature.item()))
        fit(model, x[train], y[train])
        with torch.no_grad():
            scores.append(((model(x[held]) > 0).float() == y[held]).float().mean().item())
    return starts, scores


def verify(outcome):
    starts, _ = outcome
    assert starts[0] == (0.0, 1.0)
    assert all(query > 0 and temperature != 1.0 for query, temperature in starts[1:])


TRUTH = Truth(
    fault="AttentionPool has no reset_parameters(): its query and temperature keep what the other folds taught them",
    names=("pool",),
    repair=("model = BagModel()",),
)
