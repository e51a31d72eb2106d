"""Tabular: missing labels are NaN; they are masked out of the loss, yet the gradient is NaN."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth

FEATURES, TASKS = 10, 3


class MultiTaskNet(nn.Module):
    """A shared trunk with one linear head per assay."""

    def __init__(self, features, tasks, width=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, width), nn.LayerNorm(width), nn.GELU())
        self.heads = nn.ModuleList([nn.Linear(width, 1) for _ in range(tasks)])

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([head(h) for head in self.heads], dim=-1)


class GapLoss(nn.Module):
    """Mean squared error over the entries that were measured."""

    def __init__(self):
        super().__init__()
        self.elementwise = nn.MSELoss(reduction="none")

    def forward(self, pred, target):
        measured = ~torch.isnan(target)
        error = self.elementwise(pred, target)  # cause
        error = torch.where(measured, error, torch.zeros_like(error))
        return error.sum() / measured.sum().clamp(min=1)


def assay_table(n=48, missing=0.3):
    x = torch.randn(n, FEATURES)
    y = x[:, :TASKS] * 2 + 0.1 * torch.randn(n, TASKS)
    y[torch.rand(n, TASKS) < missing] = float("nan")
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, lr=1e-2, max_norm=5.0):
        self.model, self.max_norm = model, max_norm
        self.criterion = GapLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.history = []

    def step(self, x, y):
        loss = self.criterion(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        grads = [p.grad for p in self.model.trunk.parameters()]
        self.history.append((loss.item(), all(torch.isfinite(g).all().item() for g in grads)))
        # a batch that went wrong must not ruin the weights
        if all(torch.isfinite(p.grad).all() for p in self.model.parameters()):
            nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)
            self.optimizer.step()

    def fit(self, loader):
        for x, y in loader:
            self.step(x, y)


def run():
    torch.manual_seed(0)
    model = MultiTaskNet(FEATURES, TASKS)
    before = model.trunk[0].weight.detach().clone()
    trainer = Trainer(model)
    trainer.fit(DataLoader(assay_table(), batch_size=12))
    return trainer.history, before, model.trunk[0].weight.detach()


def verify(outcome):
    history, before, after = outcome
    assert all(loss == loss for loss, _ in history)  # the loss always looks right
    assert not any(finite for _, finite in history)
    assert torch.equal(before, after)


TRUTH = Truth(
    values=True,
    fault="the squared error of a NaN label is masked only after it was computed, so its gradient is 0 * NaN",
    names=("NaN",),
    repair=("error = self.elementwise(pred, torch.where(measured, target, pred.detach()))",),
)
