"""Phase two makes a new optimizer, but the scheduler still drives the old one: the warm-up and decay are not seen."""

import math

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth


def cosine_with_warmup(optimizer, warmup, total):
    def fn(step):
        if step < warmup:
            return (step + 1) / (warmup + 1)
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))

    return LambdaLR(optimizer, fn)


class SiameseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.branch = nn.Sequential(nn.Linear(7, 14), nn.ReLU(), nn.Linear(14, 6))

    def forward(self, a, b):
        return nn.functional.pairwise_distance(self.branch(a), self.branch(b))


def contrastive(dist, same, margin=1.0):
    return (same * dist.pow(2) + (1 - same) * (margin - dist).clamp(min=0).pow(2)).mean()


class Experiment:
    def __init__(self, lr=1e-2, total=6):
        self.model = SiameseNet()
        self.lr = lr
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.scheduler = cosine_with_warmup(self.optimizer, 1, total)

    def switch_to_adam(self):
        # SGD is only for the first steps
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)  # cause

    def train_step(self):
        a, b = torch.randn(8, 7), torch.randn(8, 7)
        same = (torch.rand(8) > 0.5).float()
        loss = contrastive(self.model(a, b), same)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return self.optimizer.param_groups[0]["lr"]


def run():
    torch.manual_seed(10)
    exp = Experiment()
    lrs = [exp.train_step() for _ in range(2)]
    exp.switch_to_adam()
    return lrs + [exp.train_step() for _ in range(4)]


def verify(lrs):
    assert len(set(lrs[:2])) == 2
    assert len(set(lrs[2:])) == 1, lrs


TRUTH = Truth(
    fault="the scheduler belongs to the first optimizer; the Adam that trains from then on has a constant learning rate",
    names=("scheduler",),
    repair=(
        "self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.lr)\nself.scheduler = cosine_with_warmup(self.optimizer, 1, 6)",
    ),
)
