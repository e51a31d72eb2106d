"""Pruning in the run: the mask is applied once, the next steps make the pruned weights grow again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class LeNet300(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 24)
        self.fc2 = nn.Linear(24, 12)
        self.fc3 = nn.Linear(12, 3)

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class MagnitudePruner:
    """Removes the smallest weights of each layer and keeps their masks."""

    def __init__(self, model, fraction):
        self.model, self.fraction = model, fraction
        self.masks = {}

    @torch.no_grad()
    def prune(self):
        for name, p in self.model.named_parameters():
            if p.ndim < 2:
                continue
            k = max(1, int(self.fraction * p.numel()))
            threshold = p.abs().flatten().kthvalue(k).values
            self.masks[name] = (p.abs() > threshold).to(p.dtype)
        self.apply()

    @torch.no_grad()
    def apply(self):
        for name, p in self.model.named_parameters():
            if name in self.masks:
                p.mul_(self.masks[name])

    def sparsity(self):
        weights = [p for n, p in self.model.named_parameters() if n in self.masks]
        return sum((p == 0).sum().item() for p in weights) / sum(p.numel() for p in weights)


def train(model, optimizer, pruner, steps):
    for _ in range(steps):
        x = torch.randn(32, 12)
        optimizer.zero_grad()
        F.cross_entropy(model(x), x[:, :3].argmax(1)).backward()
        optimizer.step()  # cause


def run():
    torch.manual_seed(0)
    model = LeNet300()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    pruner = MagnitudePruner(model, 0.7)
    train(model, optimizer, pruner, 2)
    pruner.prune()
    pruned = pruner.sparsity()
    train(model, optimizer, pruner, 2)
    return pruned, pruner.sparsity()


def verify(outcome):
    pruned, now = outcome
    assert pruned > 0.65 and now < 0.3


TRUTH = Truth(
    fault="the masks are not applied after optimizer.step(); gradient and momentum bring the pruned weights back",
    names=("mask",),
    repair=("optimizer.step()\npruner.apply()",),
)
