"""torch.nn.utils.prune: the pruning is made permanent before the fine-tuning, which brings the weights back to life."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import prune

from tests.practice.truth import Truth


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 6, 3)
        self.fc1, self.fc2 = nn.Linear(6 * 4 * 4, 16), nn.Linear(16, 5)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x)).flatten(1)
        return self.fc2(F.relu(self.fc1(x)))


def prunable(model):
    return [(m, "weight") for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]


def sparsity(model):
    zeros = sum((m.weight == 0).sum().item() for m, _ in prunable(model))
    return zeros / sum(m.weight.nelement() for m, _ in prunable(model))


def train(model, data, epochs, lr, momentum=0.9):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    model.train()
    for _ in range(epochs):
        for x, y in data:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()


def prune_model(model, amount):
    prune.global_unstructured(prunable(model), pruning_method=prune.L1Unstructured, amount=amount)
    make_permanent(model)  # cause
    return sparsity(model)


def make_permanent(model):
    for module, name in prunable(model):
        if prune.is_pruned(module):
            prune.remove(module, name)


def compress(model, data, amount=0.6):
    train(model, data, epochs=1, lr=0.05)
    reached = prune_model(model, amount)
    train(model, data, epochs=2, lr=0.01)
    make_permanent(model)
    return reached, sparsity(model)


def run():
    torch.manual_seed(0)
    data = [(torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))) for _ in range(2)]
    return compress(LeNet(), data)


def verify(outcome):
    reached, left = outcome
    assert reached > 0.59 and left < 0.3, outcome


TRUTH = Truth(
    fault="prune.remove() drops the masks before the fine-tuning: the pruned weights are trained again",
    names=("weight", "remove"),
    repair=("pass",),
)
