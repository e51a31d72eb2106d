"""Deduplicated: three models' `train()` overrides became one mixin; it no longer hands the mode on, and eval() turns training on."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class FrozenNormMixin:
    """Keeps the norms of a pretrained stem in eval mode, whatever mode the model is in."""

    frozen = ("stem_norm",)

    def train(self, mode=True):
        super().train()  # cause
        for name in self.frozen:
            getattr(self, name).eval()
        return self


class Detector(FrozenNormMixin, nn.Module):
    def __init__(self, features=6, classes=3):
        super().__init__()
        self.stem = nn.Linear(features, 10, bias=False)
        self.stem_norm = nn.BatchNorm1d(10)
        self.neck_norm = nn.BatchNorm1d(10)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(10, classes)

    def forward(self, x):
        x = self.neck_norm(F.relu(self.stem_norm(self.stem(x))))
        return self.head(self.drop(x))


def train_epoch(model, optimizer, steps=2):
    model.train()
    for _ in range(steps):
        x, y = torch.randn(8, 6), torch.randint(0, 3, (8,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


@torch.no_grad()
def validate(model, steps=2):
    model.eval()
    return [float(model(torch.randn(8, 6) + 3).mean()) for _ in range(steps)]


def run():
    torch.manual_seed(0)
    model = Detector()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    drift = []
    for _ in range(2):
        train_epoch(model, optimizer)
        before = model.neck_norm.running_mean.clone()
        validate(model)
        drift.append(float((model.neck_norm.running_mean - before).abs().max()))
    return drift


def verify(drift):
    assert min(drift) > 0


TRUTH = Truth(
    fault="eval() puts the model into training mode: validation runs with dropout and feeds the running statistics",
    names=("train",),
    repair=("super().train(mode)",),
)
