"""Pruning: prune.remove makes the zeros permanent in the checkpoint's sense, and fine-tuning fills them again."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import prune

from tests.practice.truth import Truth


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 16, 4)

    def forward(self, x):
        x = F.max_pool2d(self.conv1(x).relu(), 2)
        x = F.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc(x.flatten(1))


def prunable(model):
    return [(m, "weight") for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]


def sparsity(model):
    zeros = sum((m.weight == 0).sum().item() for m, _ in prunable(model))
    return zeros / sum(m.weight.numel() for m, _ in prunable(model))


def train(model, loader, epochs, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    model.train()
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()


def make_permanent(model):
    for module, name in prunable(model):
        if prune.is_pruned(module):
            prune.remove(module, name)


def prune_step(model, amount):
    prune.global_unstructured(prunable(model), pruning_method=prune.L1Unstructured, amount=amount)


def iterative_pruning(model, loader, amounts):
    history = []
    for amount in amounts:
        prune_step(model, amount)
        pruned = sparsity(model)
        make_permanent(model)  # cause
        train(model, loader, epochs=1, lr=0.02)
        history.append((pruned, sparsity(model)))
    make_permanent(model)
    return history


def run():
    torch.manual_seed(0)
    model = LeNet()
    loader = [(torch.randn(8, 1, 16, 16), torch.randint(0, 4, (8,))) for _ in range(2)]
    train(model, loader, epochs=1, lr=0.05)
    return iterative_pruning(model, loader, amounts=[0.5, 0.2])


def verify(outcome):
    for pruned, tuned in outcome:
        assert pruned > 0.15
        assert tuned < 0.6 * pruned


TRUTH = Truth(
    fault="prune.remove takes the mask away before fine-tuning: the pruned weights get gradients and grow back",
    names=("prune.remove", "weight"),
    repair=("# the masks stay until the end",),
)
