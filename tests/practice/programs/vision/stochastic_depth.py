"""Residual net with stochastic depth; skipped blocks get no gradient in that step."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class DropBlock(nn.Module):
    def __init__(self, ch, survival):
        super().__init__()
        self.conv = nn.Conv2d(ch, ch, 3, padding=1)
        self.norm = nn.GroupNorm(2, ch)
        self.survival = survival

    def forward(self, x):
        if self.training and torch.rand(()) > self.survival:
            return x
        y = F.relu(self.norm(self.conv(x)))
        return x + (y / self.survival if self.training else y)


class Net(nn.Module):
    def __init__(self, ch=8, depth=5, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, ch, 3, padding=1)
        rates = torch.linspace(1.0, 0.4, depth).tolist()
        self.blocks = nn.Sequential(*[DropBlock(ch, r) for r in rates])
        self.fc = nn.Linear(ch, classes)

    def forward(self, x):
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


def train(model, steps, lr=1e-2):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    touched = {n: 0 for n, _ in model.named_parameters()}
    for _ in range(steps):
        x, y = torch.randn(4, 3, 8, 8), torch.randint(0, 4, (4,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for n, p in model.named_parameters():
            touched[n] += p.grad is not None
        opt.step()
    return touched


def run():
    torch.manual_seed(0)
    return train(Net().train(), steps=12)


TRUTH = Truth()


def verify(out):
    assert min(out.values()) >= 2 and min(out.values()) < 12
