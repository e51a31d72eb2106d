"""Iterative magnitude pruning while one optimizer goes on."""

import torch
from torch import nn
from torch.nn.utils import prune
import torch.nn.functional as F

from tests.practice.truth import Truth


class LeNetish(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc1 = nn.Linear(8 * 9, 24)
        self.fc2 = nn.Linear(24, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def targets(model):
    return [(m, "weight") for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]


def train(model, opt, steps):
    for _ in range(steps):
        x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 4, (8,))
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def sparsity(model):
    masks = [getattr(m, n + "_mask") for m, n in targets(model)]
    return sum((m == 0).sum().item() for m in masks) / sum(m.numel() for m in masks)


def run():
    torch.manual_seed(0)
    model = LeNetish()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    levels = []
    train(model, opt, 2)
    for _ in range(3):
        prune.global_unstructured(targets(model), pruning_method=prune.L1Unstructured, amount=0.3)
        before = model.fc1.weight_orig.detach().clone()
        train(model, opt, 2)
        levels.append((sparsity(model), not torch.equal(before, model.fc1.weight_orig)))
    for m, n in targets(model):
        prune.remove(m, n)
    zeros = sum((m.weight == 0).sum().item() for m, _ in targets(model))
    return levels, zeros


TRUTH = Truth()


def verify(out):
    levels, zeros = out
    assert all(moved for _, moved in levels) and levels[-1][0] > 0.6 and zeros > 0
