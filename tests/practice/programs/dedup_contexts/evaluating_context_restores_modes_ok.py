"""Deduplicated, healthy: `with evaluating(model)` restores each module's own mode, gradients stay off inside only, a frozen norm stays in eval."""

from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


@contextmanager
def evaluating(model):
    modes = {module: module.training for module in model.modules()}
    model.eval()
    try:
        with torch.no_grad():
            yield model
    finally:
        for module, mode in modes.items():
            module.training = mode


class Tracker(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.stem = nn.Linear(dim, dim, bias=False).requires_grad_(False)
        self.norm = nn.BatchNorm1d(dim).requires_grad_(False)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(dim, 2))
        self.norm.eval()

    def forward(self, x):
        return self.head(F.relu(self.norm(self.stem(x))))


def pseudo_labels(model, x, threshold=0.5):
    with evaluating(model):
        confidence, label = model(x).softmax(dim=-1).max(dim=-1)
    return label, confidence >= threshold


def run():
    torch.manual_seed(0)
    model = Tracker()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
    before = [p.detach().clone() for p in model.parameters()]
    statistics = model.norm.running_mean.clone()
    for _ in range(3):
        x, y, unlabelled = torch.randn(8, 8), torch.randint(0, 2, (8,)), torch.randn(8, 8)
        guess, sure = pseudo_labels(model, unlabelled)
        loss = F.cross_entropy(model(x), y) + F.cross_entropy(model(unlabelled[sure]), guess[sure])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return before, model, statistics


def verify(outcome):
    before, model, statistics = outcome
    for old, p in zip(before, model.parameters(), strict=True):
        assert torch.equal(old, p.detach()) != p.requires_grad
    assert model.training and model.head[0].training and not model.norm.training
    assert torch.equal(statistics, model.norm.running_mean)


TRUTH = Truth()
