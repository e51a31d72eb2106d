"""One model to a snapshot ensemble, healthy: deep frozen copies in a plain list, warm restarts, a distillation loss against their mean."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, features=6, classes=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 12), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(12, classes)

    def forward(self, x):
        return self.head(self.body(x))


class SnapshotEnsemble:
    def __init__(self, model, cycle=2):
        self.model, self.cycle = model, cycle
        self.snapshots = []
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        self.schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(self.optimizer, T_0=cycle)

    def snapshot(self):
        frozen = copy.deepcopy(self.model).eval().requires_grad_(False)
        self.snapshots.append(frozen)

    def mean_prediction(self, x):
        return torch.stack([s(x).softmax(dim=-1) for s in self.snapshots]).mean(dim=0)

    def step(self, number, x, y):
        self.optimizer.zero_grad()
        logits = self.model(x)
        loss = F.cross_entropy(logits, y)
        if self.snapshots:
            loss = loss + F.kl_div(logits.log_softmax(dim=-1), self.mean_prediction(x), reduction="batchmean")
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        if (number + 1) % self.cycle == 0:
            self.snapshot()


def run():
    torch.manual_seed(0)
    model = Net()
    before = [p.detach().clone() for p in model.parameters()]
    ensemble = SnapshotEnsemble(model)
    for number in range(6):
        ensemble.step(number, torch.randn(10, 6), torch.randint(0, 3, (10,)))
    return before, model, ensemble.snapshots


def verify(outcome):
    before, model, snapshots = outcome
    assert model.training and len(snapshots) == 3
    assert all(not torch.equal(b, p.detach()) for b, p in zip(before, model.parameters(), strict=True))
    assert not torch.equal(snapshots[0].head.weight, snapshots[1].head.weight)
    assert all(p.grad is None for s in snapshots for p in s.parameters())


TRUTH = Truth()
