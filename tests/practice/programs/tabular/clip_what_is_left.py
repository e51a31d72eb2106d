"""Tabular: the filter of trainable parameters is used up by the optimizer; clipping gets nothing and clips nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

NUMERIC, CATEGORIES = 6, (4, 7)


class TabularNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.embeddings = nn.ModuleList([nn.Embedding(c, 4) for c in CATEGORIES])
        self.scaler = nn.BatchNorm1d(NUMERIC, affine=False)
        self.body = nn.Sequential(nn.Linear(NUMERIC + 4 * len(CATEGORIES), width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, num, cat):
        parts = [self.scaler(num)] + [e(cat[:, i]) for i, e in enumerate(self.embeddings)]
        return self.body(torch.cat(parts, dim=1)).squeeze(1)


def rows(n=20):
    num = torch.randn(n, NUMERIC)
    cat = torch.stack([torch.randint(0, c, (n,)) for c in CATEGORIES], dim=1)
    price = 300 * num[:, 0] + 50 * cat[:, 0] + 1000
    return num, cat, price


class Fit:
    def __init__(self, model, lr=0.1, max_norm=1.0):
        self.model, self.max_norm = model, max_norm
        self.params = filter(lambda p: p.requires_grad, model.parameters())  # cause
        self.optimizer = torch.optim.SGD(self.params, lr=lr)
        self.norms = []

    def batch(self, num, cat, price):
        self.model.train()
        loss = F.mse_loss(self.model(num, cat), price)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.params, max_norm=self.max_norm)  # also
        grads = [p.grad.norm() for p in self.model.parameters() if p.grad is not None]
        self.norms.append(torch.stack(grads).norm().item())
        for group in self.optimizer.param_groups:
            group["lr"] = 1e-6 if self.norms[-1] > 10 else group["lr"]  # emergency brake
        self.optimizer.step()
        return loss.item()


def run():
    torch.manual_seed(0)
    model = TabularNet()
    for p in model.embeddings[1].parameters():
        p.requires_grad_(False)
    fit = Fit(model)
    for _ in range(3):
        fit.batch(*rows())
    return fit.norms


def verify(outcome):
    assert all(n > 100 for n in outcome)


TRUTH = Truth(
    fault="filter() can be gone through only once: the optimizer empties it and clip_grad_norm_ clips no parameter",
    names=("clip_grad_norm_",),
    repair=("self.params = [p for p in model.parameters() if p.requires_grad]",),
)
