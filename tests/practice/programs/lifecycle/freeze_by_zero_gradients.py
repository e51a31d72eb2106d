"""Freezing a phase by zeroing gradients: momentum and decoupled weight decay go on moving the 'frozen' layers."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class MultiSpeaker(nn.Module):
    def __init__(self, dim=6, speakers=4):
        super().__init__()
        self.base = nn.Sequential(nn.Linear(dim, 14), nn.ReLU(), nn.Linear(14, dim))
        self.speaker = nn.Embedding(speakers, dim)

    def forward(self, x, who):
        return self.base(x + self.speaker(who))


class Phases:
    """First everything, then only the speaker vectors."""

    def __init__(self, model, optimizer, first):
        self.model, self.optimizer, self.first = model, optimizer, first
        self.count = 0

    def frozen(self):
        return list(self.model.base.parameters()) if self.count >= self.first else []

    def apply(self):
        for p in self.frozen():
            if p.grad is not None:
                p.grad.zero_()  # cause
        self.optimizer.step()
        self.count += 1


def utterances(n):
    g = torch.Generator().manual_seed(6)
    for _ in range(n):
        who = torch.randint(0, 4, (12,), generator=g)
        x = torch.randn(12, 6, generator=g)
        yield x, who, x.flip(1) + who[:, None] * 0.5


def snapshot(model):
    return torch.cat([p.detach().flatten().clone() for p in model.base.parameters()])


def run():
    torch.manual_seed(0)
    model = MultiSpeaker()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    phases = Phases(model, optimizer, first=2)
    drift = []
    for x, who, target in utterances(5):
        before = snapshot(model)
        optimizer.zero_grad()
        F.l1_loss(model(x, who), target).backward()
        phases.apply()
        drift.append((snapshot(model) - before).abs().max().item())
    return drift


def verify(outcome):
    assert min(outcome[2:]) > 1e-3


TRUTH = Truth(
    fault="a zero gradient is not no gradient: Adam's momentum and the weight decay move the frozen base",
    names=("base",),
    repair=("p.grad = None",),
)
