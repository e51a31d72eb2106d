"""The gradients are cleared between backward and step, by a helper that logs and clears."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
        self.criterion = nn.MSELoss()
        self.history = []

    def log(self, loss):
        norm = sum(p.grad.norm() ** 2 for p in self.model.parameters() if p.grad is not None) ** 0.5
        self.history.append((loss.item(), float(norm)))
        self.model.zero_grad()  # cause

    def fit(self, batches):
        for x, y in batches:
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.log(loss)
            self.optimizer.step()  # also


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
    before = [p.detach().clone() for p in model.parameters()]
    Trainer(model).fit([(torch.randn(6, 4), torch.randn(6, 1)) for _ in range(3)])
    return [not torch.equal(b, p) for b, p in zip(before, model.parameters())]


TRUTH = Truth(fault="zero_grad between backward and step", repair=("self.optimizer.step(); self.model.zero_grad()",))


def verify(moved):
    assert not any(moved)
